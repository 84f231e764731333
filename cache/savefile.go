package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// SaveFile is [Cache.Save] to a file. It writes to path with ".tmp" appended, syncs that to
// the disk, and only then renames it: whatever happens, there is either the old file or all
// of the new one. Only the owner may read the file. If ctx ends first, SaveFile returns the
// cause of ctx, and the old file stays. Calls for one cache wait for each other; two
// processes must not save to one path.
func (c *Cache[K, V]) SaveFile(ctx context.Context, path string, encode func(dst []byte, key K, value V) ([]byte, error)) error {
	checkContext(ctx, "SaveFile")
	if c.saving.Acquire(ctx, 1) != nil {
		_, cause := reasonOf(ctx)
		return fmt.Errorf("cache: SaveFile: %w", cause)
	}
	defer c.saving.Release(1)
	temporary := path + ".tmp"
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("cache: SaveFile: %w", err)
	}
	saved := false
	defer func() {
		if !saved { // also if encode panicked
			_ = f.Close()
			_ = os.Remove(temporary)
		}
	}()
	if err := c.Save(untilDone{ctx, f}, encode); err != nil {
		return err
	}
	err = errors.Join(f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(temporary, path)
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

// syncFolder makes a rename in a folder survive a power failure, where the system can.
func syncFolder(path string) {
	if folder, err := os.Open(path); err == nil {
		_ = folder.Sync()
		_ = folder.Close()
	}
}

// untilDone is a writer that fails once a context has ended.
type untilDone struct {
	ctx context.Context
	w   io.Writer
}

func (u untilDone) Write(b []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.w.Write(b)
}
