// This file has TakeWithin, by which a call says how old a value may be.

package near

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// TakeWithin is [Cache.Take] for a value that was current at some moment of the call or of the age before it,
// whatever MaxLag and ServeOn say. 0 and less ask the store anew, by a load that begins after the call.
//
// A value in memory will do if the source has confirmed a moment at most age ago, unless some loads of the last
// MaxLag are of keys that it does not cover, or that the store could not keep. With the option Cache.Ages it also
// will if its load began at most age ago. While the store cannot be asked, Away decides, and no value of before
// stands in. What is loaded is kept as usual, for others too.
func (c *Cache[K, V]) TakeWithin(ctx context.Context, key K, age time.Duration, fetch func(ctx context.Context) (V, error)) (V, error) {
	if fetch == nil {
		panic("near: fetch of TakeWithin is nil: want a function")
	}
	l := c.local
	l.settle()
	began, old := l.link.now(), int64(max(age, 0))
	if old > 0 && l.unsure.Load() < began && l.link.vouchesFor(plus(began, -old)) && l.told(l.key(key)) {
		value, err := c.Take(ctx, key, fetch)
		if l.unsure.Load() < began {
			return value, err
		}
	}
	var own atomic.Bool
	load := l.begunOne(key, func(ctx context.Context, l *cache.Load[V]) (V, error) {
		own.Store(true)
		one := c.lookup(key, l)
		one.anew = true
		return c.loadOne(ctx, one, func(ctx context.Context, _ *cache.Load[V]) (V, error) { return fetch(ctx) })
	})
	if !l.ages {
		old = 0
	}
	for {
		e, err := l.cache.TakeEntry(ctx, key, cache.Within(time.Duration(old)), load)
		switch {
		case beginsAgain(err):
		case own.Load() || l.stoodIn.Load() < plus(began, -old): // or it has joined a load for which an old value stood in
			return c.copied(e.Value, err == nil), unkept(err)
		}
		l.settle()
		began, old = l.link.now(), 0
	}
}
