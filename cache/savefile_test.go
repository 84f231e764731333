package cache_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// TestSaveFile checks that the file is either the complete new one or the old one, and
// that no other file is left.
func TestSaveFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "entries.cache")
	c := cache.Must(cache.Options[int, int]{})
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
	failed := errors.New("failed")
	encodeAndStop := func(b []byte, k, v int) ([]byte, error) { stop(enough); return encodeInts(b, k, v) }
	for _, when := range []string{"while it saves", "before"} {
		if err := c.SaveFile(stopped, path, encodeAndStop); !errors.Is(err, enough) {
			t.Errorf("SaveFile whose context ended %s: %v", when, err)
		}
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
	to := cache.Must(cache.Options[int, int]{})
	if n, err := to.RestoreFile(path, decodeInts); n != 1000 || err != nil {
		t.Errorf("RestoreFile = %d, %v", n, err)
	}
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(files) != 1 {
		t.Errorf("the folder has %v, %v", files, err)
	}
	if info, err := os.Stat(path); err != nil || othersMayRead(info) {
		t.Errorf("others may read it: %v, %v", info.Mode(), err)
	}
}

// othersMayRead reports whether a file has a mode by which others may read it. Windows has no modes.
func othersMayRead(info fs.FileInfo) bool {
	return runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0
}

// filesBeside returns the names of the files in the folder of path, but for path.
func filesBeside(t *testing.T, path string) (names []string) {
	t.Helper()
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Name() != filepath.Base(path) {
			names = append(names, f.Name())
		}
	}
	return names
}

// TestSaveFilesTemporary checks that each SaveFile writes to a new file, which only the owner
// may read: not to what others have put there, nor to that of another SaveFile.
func TestSaveFilesTemporary(t *testing.T) {
	path := filepath.Join(t.TempDir(), "entries.cache")
	theirs := filepath.Join(t.TempDir(), "theirs")
	if err := os.WriteFile(theirs, []byte("theirs"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(theirs, path+".tmp"); err != nil {
		t.Log("no symbolic links:", err)
	}
	first, second := cache.Must(cache.Options[int, int]{}), cache.Must(cache.Options[int, int]{})
	for k := range 10 {
		first.Set(k, 1)
	}
	second.Set(1, 2)
	saves := 0
	err := first.SaveFile(t.Context(), path, func(b []byte, k, v int) ([]byte, error) {
		if saves++; saves != 5 {
			return encodeInts(b, k, v)
		}
		beside := filesBeside(t, path)
		info, err := os.Stat(filepath.Join(filepath.Dir(path), beside[len(beside)-1]))
		if err != nil || othersMayRead(info) {
			t.Errorf("others may read it: %v, %v", info.Mode(), err)
		}
		if err := second.SaveFile(t.Context(), path, encodeInts); err != nil {
			t.Error(err)
		}
		return encodeInts(b, k, v)
	})
	if err != nil {
		t.Error(err)
	}
	if n, err := cache.Must(cache.Options[int, int]{}).RestoreFile(path, decodeInts); n != 10 || err != nil {
		t.Errorf("RestoreFile = %d, %v, of what was renamed last", n, err)
	}
	if text, err := os.ReadFile(theirs); string(text) != "theirs" {
		t.Errorf("what another file has: %q, %v", text, err)
	}
}

// TestSaveFileRemovesWhatWasAbandoned checks that the temporary files of processes that were
// killed do not pile up, and that no other file goes.
func TestSaveFileRemovesWhatWasAbandoned(t *testing.T) {
	path := filepath.Join(t.TempDir(), "entries.cache")
	c := cache.Must(cache.Options[int, int]{})
	c.Set(1, 1)
	var used string
	err := c.SaveFile(t.Context(), path, func(b []byte, k, v int) ([]byte, error) {
		used = filesBeside(t, path)[0]
		return encodeInts(b, k, v)
	})
	if err != nil {
		t.Fatal(err)
	}
	young, other := used+"1", "other"+used
	for _, name := range []string{used, young, other, "entries.cache.tmp-b", "entries.cache.old"} {
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		longAgo := time.Now().Add(-24 * time.Hour)
		if err := os.Chtimes(filepath.Join(filepath.Dir(path), name), longAgo, longAgo); name != young && err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(filepath.Join(filepath.Dir(path), young), time.Now(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := c.SaveFile(t.Context(), path, encodeInts); err != nil {
		t.Error(err)
	}
	want := []string{young, other, "entries.cache.tmp-b", "entries.cache.old"}
	slices.Sort(want)
	if got := filesBeside(t, path); !slices.Equal(got, want) {
		t.Errorf("there are %q, want %q", got, want)
	}
}

// endsIf is a context that ends when it is looked at and ended returns true.
type endsIf struct {
	context.Context
	looks int
	ended func(looks int) bool
}

func (e *endsIf) Err() error {
	if e.looks++; e.ended(e.looks) {
		return context.Canceled
	}
	return nil
}

// TestSaveFileEndsWithItsContext checks that SaveFile calls encode no more once its context
// has ended, and replaces nothing, whenever that is.
func TestSaveFileEndsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "entries.cache")
	c := cache.Must(cache.Options[int, int]{})
	for k := range 30 {
		c.Set(k, 1)
	}
	all := &endsIf{Context: t.Context(), ended: func(int) bool { return false }}
	if err := c.SaveFile(all, path, encodeInts); err != nil {
		t.Fatal(err)
	}
	for k := range 30 {
		c.Set(k, 2)
	}
	if all.looks <= 30 {
		t.Errorf("it was looked at %d times for 30 entries", all.looks)
	}
	for n := 1; n <= all.looks; n++ {
		ctx := &endsIf{Context: t.Context(), ended: func(looks int) bool { return looks >= n }}
		err := c.SaveFile(ctx, path, func(b []byte, k, v int) ([]byte, error) {
			if ctx.looks >= n {
				t.Error("encode after the end")
			}
			return encodeInts(b, k, v)
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("ended at look %d: %v", n, err)
		}
		restored := cache.Must(cache.Options[int, int]{})
		if _, err := restored.RestoreFile(path, decodeInts); err != nil {
			t.Error(err)
		}
		if v, _ := restored.Get(7); v != 1 || len(filesBeside(t, path)) > 0 {
			t.Errorf("ended at look %d: the file has %d, and beside it are %q", n, v, filesBeside(t, path))
		}
	}
	written := &endsIf{Context: t.Context(), ended: func(int) bool {
		for _, name := range filesBeside(t, path) {
			info, err := os.Stat(filepath.Join(filepath.Dir(path), name))
			return err == nil && info.Size() > 0
		}
		return false
	}}
	if err := c.SaveFile(written, path, encodeInts); !errors.Is(err, context.Canceled) {
		t.Errorf("ended when all was written: %v", err)
	}
}

// TestSaveFileThatWaits checks that a SaveFile that waits for another one leaves when its
// context ends.
func TestSaveFileThatWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "entries.cache")
	c := cache.Must(cache.Options[int, int]{})
	c.Set(1, 1)
	saves, goOn := make(chan struct{}), make(chan struct{})
	saved := make(chan error)
	go func() {
		saved <- c.SaveFile(context.Background(), path, func(b []byte, k, v int) ([]byte, error) {
			close(saves)
			<-goOn
			return encodeInts(b, k, v)
		})
	}()
	<-saves
	enough := errors.New("enough")
	ctx, stop := context.WithCancelCause(t.Context())
	stopped := make(chan error)
	go func() { stopped <- c.SaveFile(ctx, path, encodeInts) }()
	stop(enough)
	select {
	case err := <-stopped:
		if !errors.Is(err, enough) {
			t.Errorf("SaveFile = %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("SaveFile waits for another one, though its context has ended")
	}
	close(goOn)
	if err := <-saved; err != nil {
		t.Error(err)
	}
}

// TestSaveFileThatIsKilled kills a process that saves, a hundred times: the file is always
// complete.
func TestSaveFileThatIsKilled(t *testing.T) {
	if path := os.Getenv("SAVE_FOR_EVER"); path != "" {
		c := cache.Must(cache.Options[int, int]{})
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
		c := cache.Must(cache.Options[int, int]{})
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
