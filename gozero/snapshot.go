package gozero

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"
	"weak"

	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/core/rescue"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/cache/codec"
)

// saveTime bounds a save at the end of the service. It leaves a second of closeTime
// for loads and callbacks to end.
const saveTime = 3 * time.Second

var (
	errClosed   = errors.New("the cache was closed")
	errSaveTime = fmt.Errorf("it was not complete after %v", saveTime)
)

// A snapshotFile saves a cache to the file Conf.Snapshot.
type snapshotFile[K comparable, V any] struct {
	name, path string
	cache      weak.Pointer[cache.Cache[K, V]]
	every      time.Duration
	regular    context.Context // of the saves by SnapshotEvery
	stop       context.CancelFunc
}

// keep restores a new cache from its file, and starts the saves by SnapshotEvery.
func keep[K comparable, V any](c *cache.Cache[K, V], name string, conf Conf) *snapshotFile[K, V] {
	f := &snapshotFile[K, V]{name: name, path: conf.Snapshot, cache: weak.Make(c), every: conf.SnapshotEvery}
	f.regular, f.stop = context.WithCancel(context.Background())
	f.restore(c)
	if f.every > 0 {
		f.saveLater()
	}
	return f
}

func (f *snapshotFile[K, V]) restore(c *cache.Cache[K, V]) {
	_, decode := codec.JSON[K, V]()
	n, err := c.RestoreFile(f.path, decode)
	switch {
	case err == nil:
		logx.Infof("cache(%s) - %d entries restored from %s", f.name, n, f.path)
	case !errors.Is(err, fs.ErrNotExist):
		logx.Errorf("cache(%s) - %d entries restored, and then: %v", f.name, n, err)
	}
}

// saveLater saves at every interval until the cache is closed or collected, or the service
// ends. A timer needs no goroutine in between.
func (f *snapshotFile[K, V]) saveLater() {
	time.AfterFunc(f.every, func() {
		c := f.cache.Value()
		if c != nil && !cache.For(c).Closed() && f.regular.Err() == nil {
			f.save(f.regular, c)
			f.saveLater()
		}
	})
}

// saveLast saves at the end of the service. It ends a running save, as there may not be time for
// both.
func (f *snapshotFile[K, V]) saveLast(ctx context.Context, c *cache.Cache[K, V]) {
	f.stop()
	ctx, cancel := context.WithTimeoutCause(ctx, saveTime, errSaveTime)
	defer cancel()
	f.save(ctx, c)
}

func (f *snapshotFile[K, V]) save(ctx context.Context, c *cache.Cache[K, V]) {
	if cache.For(c).Closed() {
		return
	}
	defer rescue.Recover() // a MarshalJSON that panics must not end the process
	ctx = whileOpen{ctx, cache.For(c).Closed}
	toJSON, _ := codec.JSON[K, V]()
	encode := func(dst []byte, key K, value V) ([]byte, error) {
		if ctx.Err() != nil { // writes are buffered, and may be far apart
			return nil, context.Cause(ctx)
		}
		return toJSON(dst, key, value)
	}
	err := c.SaveFile(ctx, f.path, encode)
	if err != nil && !errors.Is(err, errClosed) && !errors.Is(err, context.Canceled) {
		logx.Errorf("cache(%s) - not saved to %s, which stays as it was: %v", f.name, f.path, err)
	}
}

// whileOpen is a context that also ends when the cache is closed. SaveFile asks it before
// each write, and writes last when it has seen all entries. So the file of a cache that
// Close has emptied meanwhile never replaces an older one.
type whileOpen struct {
	context.Context
	closed func() bool
}

func (w whileOpen) Err() error {
	if w.closed() {
		return errClosed
	}
	return w.Context.Err()
}
