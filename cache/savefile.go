// This file has SaveFile and RestoreFile. A crash while saving leaves the old file, or all of the new one.

package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/pinwheel-cache/pinwheel/cache/internal/flight"
)

// SaveFile is [Cache.Save] to a file. It writes to a new file beside path, whose name has
// ".tmp-" and a number more, syncs that to the disk, and only then renames it: whatever
// happens, there is either the old file or all of the new one. Only the owner may read the
// file. Temporary files of processes that were killed are removed after an hour, by the next
// SaveFile to the same path.
//
// If ctx ends first, SaveFile returns the cause of ctx, and the old file stays. It looks at ctx
// before each entry, and whenever it has written at most 4 MB to the disk. Calls for one
// cache wait for each other; of two caches or processes that save to one path, the last wins.
func (c *Cache[K, V]) SaveFile(ctx context.Context, path string, encode func(dst []byte, key K, value V) ([]byte, error)) error {
	checkContext(ctx, "SaveFile")
	checkFunction(encode == nil, "encode of SaveFile")
	c.saving.CompareAndSwap(nil, semaphore.NewWeighted(1))
	saving := c.saving.Load()
	if saving.Acquire(ctx, 1) != nil {
		_, cause := flight.ReasonOf(ctx)
		return fmt.Errorf("cache: SaveFile: %w", cause)
	}
	defer saving.Release(1)
	removeAbandoned(path)
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+temporary+"*")
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
	if err := c.saveTo(ctx, f, encode); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("cache: SaveFile: %w", err)
	}
	saved = true
	syncFolder(filepath.Dir(path))
	return nil
}

// saveTo is Save to a file, which it syncs and closes, until ctx ends.
func (c *Cache[K, V]) saveTo(ctx context.Context, f *os.File, encode func(dst []byte, key K, value V) ([]byte, error)) error {
	out := &untilDone{ctx: ctx, file: f}
	err := c.Save(out, func(dst []byte, key K, value V) ([]byte, error) {
		if err := out.ended(); err != nil {
			return dst, err
		}
		return encode(dst, key, value)
	})
	if err != nil && out.cause == nil {
		return err
	}
	if err == nil {
		err = errors.Join(f.Sync(), f.Close(), out.ended())
	}
	if err = cmp.Or(out.cause, err); err != nil {
		return fmt.Errorf("cache: SaveFile: %w", err)
	}
	return nil
}

const (
	// temporary is between the path and the number in the name of a temporary file.
	temporary = ".tmp-"

	// abandonedAfter is how old a temporary file is that no process writes any more.
	abandonedAfter = time.Hour

	// syncEvery bounds the bytes for which SaveFile waits at once, so that it soon notices
	// the end of its context, however slow the disk is.
	syncEvery = 4 << 20
)

// removeAbandoned removes the temporary files that killed processes have left beside path. A
// process that still writes one notices when it renames that.
func removeAbandoned(path string) {
	folder := filepath.Dir(path)
	files, _ := os.ReadDir(folder) // without them SaveFile works too
	for _, file := range files {
		number, ours := strings.CutPrefix(file.Name(), filepath.Base(path)+temporary)
		if !ours || !file.Type().IsRegular() || strings.Trim(number, "0123456789") != "" {
			continue
		}
		if info, err := file.Info(); err == nil && time.Since(info.ModTime()) > abandonedAfter {
			_ = os.Remove(filepath.Join(folder, file.Name()))
		}
	}
}

// RestoreFile is [Cache.Restore] from a file. If there is none, the error wraps
// [io/fs.ErrNotExist], as at the first start of a program.
func (c *Cache[K, V]) RestoreFile(path string, decode func([]byte) (K, V, error)) (restored int, err error) {
	checkFunction(decode == nil, "decode of RestoreFile") // also if there is no file
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

// untilDone writes to a file until a context has ended.
type untilDone struct {
	ctx  context.Context
	file interface { // an [os.File]
		io.Writer
		Sync() error
	}
	unsynced int
	cause    error // of the context, once it was seen to have ended
}

// ended returns the cause of the context if that has ended.
func (u *untilDone) ended() error {
	if u.ctx.Err() != nil {
		_, u.cause = flight.ReasonOf(u.ctx)
	}
	return u.cause
}

func (u *untilDone) Write(b []byte) (written int, err error) {
	for piece := range slices.Chunk(b, syncEvery) {
		if err := u.ended(); err != nil {
			return written, err
		}
		n, err := u.file.Write(piece)
		written += n
		u.unsynced += n
		if err == nil && u.unsynced >= syncEvery {
			u.unsynced, err = 0, u.file.Sync()
		}
		if err != nil {
			return written, err
		}
	}
	return written, nil
}
