// This file saves a cache to a file, and restores it: SaveFile and RestoreFile.

package cache

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// SaveFile is [Cache.Save] to a file. It writes to a new file beside path, syncs that to the
// disk, and only then renames it: whatever happens, there is either the old file or all of the
// new one. Only the owner may read it. Its first name is path with ".saving-" and a random number
// behind it, so nobody who may write to the folder can prepare a link or a pipe for it. SaveFile
// removes such files that killed processes left ten minutes ago or earlier.
//
// If ctx ends first, SaveFile returns the cause of ctx, and the old file stays. It looks at ctx
// before each call of encode, and leaves a sync that hangs. Calls for one cache wait for each
// other. If several processes save to one path, the last to end wins.
func (c *Cache[K, V]) SaveFile(ctx context.Context, path string, encode func(dst []byte, key K, value V) ([]byte, error)) error {
	checkContext(ctx, "SaveFile")
	if encode == nil {
		panic("cache: encode of SaveFile is nil: want a function")
	}
	select {
	case c.saving <- struct{}{}:
		defer func() { <-c.saving }()
	case <-ctx.Done():
		return fmt.Errorf("cache: SaveFile: %w", context.Cause(ctx))
	}
	removeStale(path)
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+saving+"*") // exclusively, with mode 0600
	if err != nil {
		return fmt.Errorf("cache: SaveFile: %w", err)
	}
	saved := false
	defer func() {
		if !saved { // also if encode panicked
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	err = c.Save(f, func(dst []byte, key K, value V) ([]byte, error) {
		if err := ended(ctx); err != nil {
			return nil, err
		}
		return encode(dst, key, value)
	})
	if err != nil {
		return err
	}
	if err = syncUntil(ctx, f); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("cache: SaveFile: %w", err)
	}
	saved = true
	syncFolder(filepath.Dir(path))
	return nil
}

// RestoreFile is [Cache.Restore] from a file. If there is none, the error wraps
// [io/fs.ErrNotExist], as at the first start of a program.
func (c *Cache[K, V]) RestoreFile(path string, decode func([]byte) (K, V, error)) (restored int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, fmt.Errorf("cache: RestoreFile: %w", err)
	}
	defer f.Close()
	restored, err = c.Restore(f, decode)
	if err != nil {
		return restored, fmt.Errorf("%w (in %s)", err, path)
	}
	return restored, nil
}

const (
	saving     = ".saving-" // comes between the name of a file and a number while it is written
	staleAfter = 10 * time.Minute
)

// removeStale removes files that calls of SaveFile for path have left: their process was killed.
// It leaves young ones alone, which another process may be writing.
func removeStale(path string) {
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return // CreateTemp says so
	}
	defer folder.Close()
	names, _ := folder.Readdirnames(-1)
	for _, name := range names {
		number, ok := strings.CutPrefix(name, filepath.Base(path)+saving)
		if !ok || strings.Trim(number, "0123456789") != "" {
			continue
		}
		name = filepath.Join(filepath.Dir(path), name)
		if info, err := os.Lstat(name); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > staleAfter {
			_ = os.Remove(name)
		}
	}
}

// syncFolder makes a rename in a folder survive a power failure, where the system can.
func syncFolder(path string) {
	if folder, err := os.Open(path); err == nil {
		_ = folder.Sync()
		_ = folder.Close()
	}
}

// syncFile is (*os.File).Sync, except in tests with a slow disk.
var syncFile = (*os.File).Sync

// syncUntil brings a file to the disk and closes it. If ctx ends first, it leaves that to another
// goroutine: a sync can take seconds, and nothing interrupts it.
func syncUntil(ctx context.Context, f *os.File) error {
	synced, left := make(chan error), ctx.Done()
	go func() {
		err := errors.Join(syncFile(f), f.Close())
		select {
		case synced <- err:
		case <-left:
			_ = os.Remove(f.Name()) // again: some systems remove no open file
		}
	}()
	select {
	case err := <-synced:
		return errors.Join(err, ended(ctx))
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ended returns the cause of a context that has ended, or nil.
func ended(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}
