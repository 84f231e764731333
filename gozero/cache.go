package gozero

import (
	"fmt"

	"github.com/zeromicro/go-zero/core/logx"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// An Option sets what YAML cannot, such as OnRemove or Weigh, and wins over [Conf].
// Any function that changes the options will do, and nil changes nothing:
//
//	gozero.MustNewCache(c.Users, func(o *cache.Options[int64, *User]) {
//		o.OnRemove = flush
//	})
type Option[K comparable, V any] func(o *cache.Options[K, V])

// NewCache returns an empty cache. The error says what is wrong with the settings. It
// is safe for concurrent use.
//
// The cache is closed when the service ends, as the package documentation says;
// closing it earlier is fine too, and one that nobody holds any more is collected.
// go-zero's minute line is logged, as by [LogStats], and a line now if the cache has
// neither Limit nor MaxWeight. What OnRemove panics with goes to logx, unless OnPanic
// is set.
func NewCache[K comparable, V any](c Conf, opts ...Option[K, V]) (*cache.Cache[K, V], error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("gozero: cache %q: %w", c.Name, err)
	}
	o := options(c, opts)
	made, err := cache.New(o)
	if err != nil {
		return nil, fmt.Errorf("gozero: cache %q: %w", o.Name, err)
	}
	if o.Limit == 0 && o.MaxWeight == 0 {
		// At level info, since logx has none for warnings, and it may be meant.
		logx.Infof("cache(%s) - no limit: neither Limit nor MaxWeight is set, so it keeps every key until that expires", o.Name)
	}
	closeAtShutdown(made, o.Name)
	LogStats()
	return made, nil
}

// MustNewCache is [NewCache] for the start of a service: where that returns an
// error, it logs the error and ends the process, as go-zero's own Must functions do.
func MustNewCache[K comparable, V any](c Conf, opts ...Option[K, V]) *cache.Cache[K, V] {
	made, err := NewCache(c, opts...)
	logx.Must(err)
	return made
}

// logPanic returns what tells logx of a panic of OnRemove.
func logPanic(name string) func(recovered any, stack []byte) {
	return func(recovered any, stack []byte) {
		logx.Errorf("cache(%s) - OnRemove panicked: %v\n%s", name, recovered, stack)
	}
}
