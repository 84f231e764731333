//go:build unix

package cache

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestSaveFileAmongOthers checks that whoever may write to the folder, and guesses the name of the
// next file, gets neither what is saved nor a file of his overwritten, nor makes SaveFile wait.
func TestSaveFileAmongOthers(t *testing.T) {
	c := Must(Options[int, int]{})
	c.Set(1, 1)
	for name, prepare := range map[string]func(guess, victim string) error{
		"a file that all may read": func(guess, _ string) error {
			return errors.Join(os.WriteFile(guess, nil, 0o666), os.Chmod(guess, 0o666))
		},
		"a link":                 func(guess, victim string) error { return os.Symlink(victim, guess) },
		"a link to nothing":      func(guess, victim string) error { return os.Symlink(victim+".new", guess) },
		"a pipe nobody looks at": func(guess, _ string) error { return syscall.Mkfifo(guess, 0o666) },
	} {
		folder := t.TempDir()
		path, victim := filepath.Join(folder, "entries.cache"), filepath.Join(t.TempDir(), "victim")
		if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
			t.Fatal(err)
		}
		var last string
		for range 3 {
			guesses := []string{path + ".tmp", last} // as it was once, and the name of last time
			for _, guess := range guesses {
				if _, err := os.Lstat(guess); guess != "" && errors.Is(err, fs.ErrNotExist) {
					if err := prepare(guess, victim); err != nil {
						t.Fatal(err)
					}
				}
			}
			before := names(t, folder)
			err := c.SaveFile(context.Background(), path, func(dst []byte, k, v int) ([]byte, error) {
				for name := range names(t, folder) {
					if !before[name] {
						last = filepath.Join(folder, name)
						checkPrivate(t, last)
					}
				}
				return encodeInts(dst, k, v)
			})
			if err != nil || !strings.HasPrefix(last, path) {
				t.Errorf("%s: SaveFile wrote to %q, %v", name, last, err)
			}
			checkPrivate(t, path)
		}
		if b, err := os.ReadFile(victim); string(b) != "precious" || len(names(t, filepath.Dir(victim))) != 1 {
			t.Errorf("%s: the victim has %q, %v, and its folder %v", name, b, err, names(t, filepath.Dir(victim)))
		}
	}
}

// names returns the names in a folder.
func names(t *testing.T, folder string) map[string]bool {
	t.Helper()
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for _, f := range files {
		all[f.Name()] = true
	}
	return all
}

// checkPrivate checks that a file is none but a file, which only its owner may read.
func checkPrivate(t *testing.T, path string) {
	t.Helper()
	if info, err := os.Lstat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("%s: %v, %v; want mode 0600", path, info, err)
	}
}
