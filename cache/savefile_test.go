package cache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/synctest"
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

// TestSaveFileOfABubble checks that what was filled in fake time can be saved outside.
func TestSaveFileOfABubble(t *testing.T) {
	var c *Cache[int, int]
	synctest.Test(t, func(*testing.T) {
		c = Must(Options[int, int]{})
		c.Set(1, 1)
	})
	if err := c.SaveFile(t.Context(), filepath.Join(t.TempDir(), "entries.cache"), encodeInts); err != nil {
		t.Error(err)
	}
}

// TestSaveFileThatWaits checks that a SaveFile that waits for another one leaves when its
// context ends.
func TestSaveFileThatWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "entries.cache")
	c := Must(Options[int, int]{})
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
