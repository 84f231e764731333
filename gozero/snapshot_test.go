package gozero_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/gozero"
)

type person struct {
	Name string
	City string `json:"city"`
}

// kept returns YAML settings for a cache with a file, and the path of the file.
func kept(t *testing.T, more ...string) (c gozero.Conf, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "users.cache")
	c, err := load(t, append([]string{"Name: users", "Limit: 1000", "Expire: 1h", "Snapshot: " + path}, more...)...)
	must(t, err)
	return c, path
}

// logged checks that there is one line with a level and all these words, or none if level is "".
func (j *journal) logged(level string, words ...string) {
	j.t.Helper()
	lines := j.take()
	if level == "" && len(lines) == 0 {
		return
	}
	if len(lines) != 1 || lines[0].Level != level {
		j.t.Fatalf("logged %v, want one line of level %q", lines, level)
	}
	for _, w := range words {
		if !strings.Contains(lines[0].Content, w) {
			j.t.Errorf("logged %q, which does not say %q", lines[0].Content, w)
		}
	}
}

func checkFile(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); string(got) != want || err != nil {
		t.Errorf("the file is %q, %v; want %q", got, err, want)
	}
}

// saved writes a file with people, as the end of a service does.
func saved(t *testing.T, conf gozero.Conf, people int) {
	t.Helper()
	c := gozero.MustNewCache[int, person](conf)
	for i := range people {
		c.Set(i, person{fmt.Sprint("name ", i), "Kyoto"})
	}
	gozero.CloseAll()
	if !cache.For(c).Closed() {
		t.Error("the cache is not closed")
	}
}

// TestSnapshotWarmsTheNextStart begins as a new service does: without the file, and without its
// folder.
func TestSnapshotWarmsTheNextStart(t *testing.T) {
	conf, path := kept(t)
	path = filepath.Join(filepath.Dir(path), "data", "caches", "users.cache")
	conf.Snapshot = path
	j := newJournal(t)
	saved(t, conf, 100)
	j.logged("") // a missing file is not logged

	c := closed(t, gozero.MustNewCache[int, person](conf))
	j.logged("info", "cache(users) - 100 entries restored from "+path)
	if v, found := c.Get(42); !found || v != (person{"name 42", "Kyoto"}) {
		t.Errorf("got %v, %v", v, found)
	}
	if s := c.Stats(); s.Restored != 100 || s.Entries != 100 {
		t.Errorf("%d restored, %d entries", s.Restored, s.Entries)
	}
}

// TestSnapshotOfAnotherType checks that values of one type are not restored as another.
func TestSnapshotOfAnotherType(t *testing.T) {
	conf, path := kept(t)
	saved(t, conf, 100)
	j := newJournal(t)
	c := closed(t, gozero.MustNewCache[int, struct{ Title string }](conf))
	if c.Len() != 0 {
		t.Errorf("%d entries", c.Len())
	}
	j.logged("error", "0 entries restored", "int gozero_test.person", path)
	option := closed(t, gozero.MustNewCache(conf, func(o *cache.Options[int, person]) { o.Schema = "v2" }))
	if option.Len() != 0 {
		t.Errorf("with another Schema: %d entries", option.Len())
	}
	j.logged("error", `"v2"`)
}

// An acting value does something when it is written.
type acting struct{ act func() }

func (v acting) MarshalJSON() ([]byte, error) {
	v.act()
	return []byte("{}"), nil
}

// TestSnapshotThatTakesTooLong checks that a save that does not end in time leaves the old file,
// and time for Close.
func TestSnapshotThatTakesTooLong(t *testing.T) {
	conf, path := kept(t)
	conf.Expire = 0 // no timer of the bubble outlasts it
	must(t, os.WriteFile(path, []byte("old"), 0o600))
	synctest.Test(t, func(t *testing.T) {
		freshLog()
		c := gozero.MustNewCache[int, acting](conf)
		for i := range 10 {
			c.Set(i, acting{func() { time.Sleep(1100 * time.Millisecond) }})
		}
		j := newJournal(t)
		begin := time.Now()
		gozero.CloseAll()
		if took := time.Since(begin); took != 3300*time.Millisecond || // at the first entry after 3 s
			!cache.For(c).Closed() {
			t.Errorf("it took %v; closed: %v", took, cache.For(c).Closed())
		}
		j.logged("error", "cache(users) - not saved to "+path, "not complete after 3s")
		time.Sleep(time.Minute) // the minute line ends
	})
	checkFile(t, path, "old")
}

func TestSnapshotEvery(t *testing.T) {
	conf, path := kept(t, "SnapshotEvery: 5m")
	if conf.SnapshotEvery != 5*time.Minute || conf.Snapshot != path {
		t.Fatalf("the YAML gives %+v", conf)
	}
	conf.Expire = 0 // no timer of the bubble outlasts it
	synctest.Test(t, func(t *testing.T) {
		freshLog()
		c := gozero.MustNewCache[int, person](conf)
		c.Set(1, person{Name: "Ann"})
		pass(5*time.Minute - time.Second)
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("before its time: %v", err)
		}
		var files []string
		for i := range 2 { // and again
			c.Set(i+2, person{Name: "Bob"})
			pass(5 * time.Minute)
			b, err := os.ReadFile(path)
			must(t, err)
			files = append(files, string(b))
		}
		if strings.Count(files[0], "Bob") != 1 || strings.Count(files[1], "Bob") != 2 {
			t.Errorf("the files are %q", files)
		}

		// A cache that the program closed is empty, and its file stays.
		must(t, c.Close(t.Context()))
		time.Sleep(10 * time.Minute)
		j := newJournal(t)
		gozero.CloseAll()
		j.logged("")
		checkFile(t, path, files[1])
		time.Sleep(time.Minute) // the minute line ends
	})
}

// TestSnapshotOfWhatIsClosedMeanwhile checks that a cache closed during a save does not replace
// its file.
func TestSnapshotOfWhatIsClosedMeanwhile(t *testing.T) {
	conf, path := kept(t)
	c := gozero.MustNewCache[int, acting](conf)
	must(t, os.WriteFile(path, []byte("old"), 0o600))
	c.Set(1, acting{func() { _ = c.Close(t.Context()) }})
	j := newJournal(t)
	gozero.CloseAll()
	j.logged("")
	checkFile(t, path, "old")
}

func TestSnapshotPanics(t *testing.T) {
	conf, path := kept(t)
	c := gozero.MustNewCache[int, acting](conf)
	c.Set(1, acting{func() { panic("oh") }})
	j := newJournal(t)
	gozero.CloseAll()
	j.logged("error", "oh")
	if !cache.For(c).Closed() {
		t.Error("the cache is not closed")
	}
	if files, _ := filepath.Glob(path + "*"); len(files) != 0 {
		t.Errorf("it left %q", files)
	}
}
