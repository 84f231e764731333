package gozero

import (
	"fmt"

	"github.com/zeromicro/go-zero/core/logx"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// An Option sets what YAML cannot, such as OnRemove or Weigh. It overrides [Conf]. Any
// function that changes the options can be one; a nil Option changes nothing:
//
//	gozero.MustNewCache(c.Users, func(o *cache.Options[int64, *User]) {
//		o.OnRemove = flush
//	})
type Option[K comparable, V any] func(o *cache.Options[K, V])

// NewCache returns a cache, which is safe for concurrent use. It is empty, except for entries
// restored from the Snapshot of c. The error says what is wrong with the settings.
//
// The cache is closed when the service ends, as the package documentation says. It can
// be closed earlier, and an unreferenced cache is garbage-collected. NewCache calls
// [LogStats] for go-zero's minute line, and logs a line at once if the cache has
// neither Limit nor MaxWeight. Unless OnPanic is set, logx logs what OnPanic would get:
// a panic of OnRemove, or of a load in the background.
func NewCache[K comparable, V any](c Conf, opts ...Option[K, V]) (*cache.Cache[K, V], error) {
	err := c.check()
	if err == nil {
		err = c.makeFolder()
	}
	if err != nil {
		return nil, fmt.Errorf("gozero: cache %q: %w", c.Name, err)
	}
	o := options(c, opts)
	made, err := cache.New(o)
	if err != nil {
		return nil, fmt.Errorf("gozero: cache %q: %w", o.Name, err)
	}
	if o.Limit == 0 && o.MaxWeight == 0 {
		// At level info: logx has no level for warnings, and it may be intended.
		logx.Infof("cache(%s) - no limit: neither Limit nor MaxWeight is set, so it keeps every key until that expires", o.Name)
	}
	var file *snapshotFile[K, V]
	if c.Snapshot != "" {
		file = keep(made, o.Name, c)
	}
	closeAtShutdown(made, o.Name, file)
	LogStats()
	return made, nil
}

// MustNewCache is [NewCache] for the start of a service. On an error it logs the error
// and ends the process, as go-zero's own Must functions do.
func MustNewCache[K comparable, V any](c Conf, opts ...Option[K, V]) *cache.Cache[K, V] {
	made, err := NewCache(c, opts...)
	logx.Must(err)
	return made
}

// logPanic returns an OnPanic that logs by logx.
func logPanic(name string) func(recovered any, stack []byte) {
	return func(recovered any, stack []byte) {
		logx.Errorf("cache(%s) - OnRemove or a load in the background panicked: %v\n%s", name, recovered, stack)
	}
}
