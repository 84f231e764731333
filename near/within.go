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
// A value in memory will do if the source has confirmed a moment at most age ago or, with the option
// Cache.Ages, if its load began at most age ago. While the store cannot be asked, Away decides, and no value
// of before stands in. What is loaded is kept as usual, for others too.
func (c *Cache[K, V]) TakeWithin(ctx context.Context, key K, age time.Duration, fetch func(ctx context.Context) (V, error)) (V, error) {
	if fetch == nil {
		panic("near: fetch of TakeWithin is nil: want a function")
	}
	l := c.local
	l.settle()
	began := l.link.now()
	if age > 0 && l.link.vouchesFor(plus(began, -int64(age))) && l.told(l.key(key)) {
		value, err := c.Take(ctx, key, fetch)
		if l.unsure.Load() < began {
			return value, err
		}
	}
	load := func(ctx context.Context, l *cache.Load[V]) (V, error) {
		one := c.lookup(key, l)
		one.anew = true
		return c.loadOne(ctx, one, func(ctx context.Context, _ *cache.Load[V]) (V, error) { return fetch(ctx) })
	}
	terms := cache.Within(age)
	if !l.ages {
		terms = cache.Within(0)
	}
	e, err := l.cache.TakeEntry(ctx, key, terms, l.begunOne(key, load))
	for beginsAgain(err) {
		l.settle()
		e, err = l.cache.TakeEntry(ctx, key, terms, l.begunOne(key, load))
	}
	if l.stoodIn.Load() >= began { // perhaps in a load of another caller, that this one has joined
		e.Value, err = load(ctx, &cache.Load[V]{Expire: -1})
	}
	return c.copied(e.Value, err == nil), unkept(err)
}

// A latest is the latest of the times that it was told, of a link.
type latest struct{ atomic.Int64 }

func (l *latest) note(at int64) {
	for {
		before := l.Load()
		if before >= at || l.CompareAndSwap(before, at) {
			return
		}
	}
}
