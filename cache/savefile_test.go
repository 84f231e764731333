package cache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestSaveFile checks that the file is either the complete new one or the old one, and
// that no other file is left.
func TestSaveFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "entries.cache")
	c := Must(Options[int, int]{})
	if _, err := c.RestoreFile(path, decodeInts); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("RestoreFile of nothing: %v", err)
	}
	for k := range 1000 {
		c.Set(k, k)
	}
	if err := c.SaveFile(t.Context(), path, encodeInts); err != nil {
		t.Fatal(err)
	}
	stopped, stop := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	stop(enough)
	failed := errors.New("failed")
	if err := c.SaveFile(stopped, path, encodeInts); !errors.Is(err, enough) {
		t.Errorf("SaveFile after its context ended: %v", err)
	}
	if err := c.SaveFile(t.Context(), path, func(b []byte, _, _ int) ([]byte, error) { return b, failed }); !errors.Is(err, failed) {
		t.Errorf("SaveFile with an encode that fails: %v", err)
	}
	func() {
		defer func() { _ = recover() }()
		_ = c.SaveFile(t.Context(), path, func([]byte, int, int) ([]byte, error) { panic("encode") })
	}()
	if err := c.SaveFile(t.Context(), filepath.Join(path, "below a file"), encodeInts); err == nil {
		t.Error("SaveFile below a file: no error")
	}
	to := Must(Options[int, int]{})
	if n, err := to.RestoreFile(path, decodeInts); n != 1000 || err != nil {
		t.Errorf("RestoreFile = %d, %v", n, err)
	}
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(files) != 1 {
		t.Errorf("the folder has %v, %v", files, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others may read it: %v, %v", info.Mode(), err)
	}
}

// TestSaveFileEndsWithItsContext checks that SaveFile looks at its context before each entry, not
// only when a buffer is full, and while another call or the disk holds it up.
func TestSaveFileEndsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "entries.cache")
	c := Must(Options[int, int]{})
	for k := range 100 {
		c.Set(k, k)
	}
	enough := errors.New("enough")
	save := func(each func(stop func())) { // each is called for each entry
		ctx, stop := context.WithCancelCause(t.Context())
		err := c.SaveFile(ctx, path, func(dst []byte, k, v int) ([]byte, error) {
			each(func() { stop(enough) })
			return encodeInts(dst, k, v)
		})
		if !errors.Is(err, enough) {
			t.Errorf("SaveFile = %v, want the cause of its context", err)
		}
	}

	calls := 0
	save(func(stop func()) {
		if calls++; calls == 3 {
			stop()
		}
	})
	if calls != 3 {
		t.Errorf("encode was called %d times, want 3", calls)
	}

	save(func(stop func()) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(enough)
		if err := c.SaveFile(ctx, path, encodeInts); !errors.Is(err, enough) {
			t.Errorf("SaveFile behind another = %v", err)
		}
		stop()
	})

	t.Cleanup(func() { syncFile = (*os.File).Sync })
	var stopNow func()
	release, released := make(chan struct{}), make(chan struct{})
	syncFile = func(*os.File) error {
		stopNow()
		<-release
		close(released)
		return nil
	}
	save(func(stop func()) { stopNow = stop })
	close(release)
	<-released
	if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 0 {
		t.Errorf("the folder has %v, %v", files, err)
	}
}

// TestSaveFileOfNothingEndsToo checks that SaveFile asks a context whether it has ended before it
// replaces the file, even if there was no entry before which to ask.
func TestSaveFileOfNothingEndsToo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "entries.cache")
	err := Must(Options[int, int]{}).SaveFile(endedInSilence{t.Context()}, path, encodeInts)
	if _, there := os.Stat(path); !errors.Is(err, context.Canceled) || !errors.Is(there, fs.ErrNotExist) {
		t.Errorf("SaveFile = %v; the file: %v", err, there)
	}
}

// endedInSilence is a context that has ended without closing Done.
type endedInSilence struct{ context.Context }

func (endedInSilence) Err() error { return context.Canceled }

// TestSaveFileRemovesWhatIsLeft checks that files of killed processes do not pile up, and that no
// others are removed.
func TestSaveFileRemovesWhatIsLeft(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "entries.cache")
	long := time.Now().Add(-time.Hour)
	for name, written := range map[string]time.Time{
		"entries.cache.saving-12": long, "entries.cache.saving-3": long,
		"entries.cache.saving-4": time.Now(), "entries.cache.saving-5.md": long, "entries.cache.saving": long,
		"entries.cache.1": long, "other.cache.saving-12": long, "12": long,
	} {
		name = filepath.Join(folder, name)
		if err := errors.Join(os.WriteFile(name, nil, 0o600), os.Chtimes(name, written, written)); err != nil {
			t.Fatal(err)
		}
	}
	if err := Must(Options[int, int]{}).SaveFile(t.Context(), path, encodeInts); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(folder)
	var got []string
	for _, f := range files {
		got = append(got, f.Name())
	}
	want := []string{"12", "entries.cache", "entries.cache.1", "entries.cache.saving", "entries.cache.saving-4", "entries.cache.saving-5.md", "other.cache.saving-12"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("the folder has %q, %v; want %q", got, err, want)
	}
}

// TestSaveFileThatIsKilled kills a process that saves, a hundred times: the file is always
// complete.
func TestSaveFileThatIsKilled(t *testing.T) {
	if path := os.Getenv("SAVE_FOR_EVER"); path != "" {
		c := Must(Options[int, int]{})
		for n := 0; ; n++ {
			for k := range 2000 {
				c.Set(k, n)
			}
			if err := c.SaveFile(context.Background(), path, encodeInts); err != nil {
				panic(err)
			}
			if n == 0 {
				fmt.Println("saved")
			}
		}
	}
	path := filepath.Join(t.TempDir(), "entries.cache")
	runs := 100
	if testing.Short() {
		runs = 10
	}
	for run := range runs {
		saver := exec.Command(os.Args[0], "-test.run=^TestSaveFileThatIsKilled$")
		saver.Env = append(os.Environ(), "SAVE_FOR_EVER="+path)
		out, err := saver.StdoutPipe()
		if err == nil {
			err = saver.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		_, _ = out.Read(make([]byte, 1)) // until there is a file; a machine can be slow
		time.Sleep(time.Duration(run) * time.Millisecond / 3)
		_ = saver.Process.Kill()
		_ = saver.Wait()
		c := Must(Options[int, int]{})
		if n, err := c.RestoreFile(path, decodeInts); n != 2000 || err != nil {
			t.Fatalf("run %d: RestoreFile = %d, %v", run, n, err)
		}
		want, _ := c.Get(0)
		for k, v := range c.All() {
			if v != want {
				t.Fatalf("run %d: %d has value %d, and 0 has %d", run, k, v, want)
			}
		}
	}
}
