package near

import (
	"context"
	"errors"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// TakeWithin is [Cache.Take] for callers who say how old the answer may be, whatever MaxLag is:
// it was current in the store, or was the result of fetch, at some moment of the call or of the
// age before it; if the store itself may be behind a database, as Redis is when a program
// removes keys after it has written, the answer may be behind that database by as much more.
//
// A value in memory is returned if the source has vouched for a moment at most age ago, or if a
// TakeWithin or GetWithin has loaded it and that began at most age ago. An age of 0, and a
// negative one, asks the store anew: so does every age that nothing in memory meets.
//
// Callers share what is asked if it begins after they came, or began at most age before. If an
// older one is under way they wait for its end, and then share the next one: so a key that
// many ask for has one at a time. Whoever asks anew first drops the value in memory: no caller
// of this instance gets an older one afterwards, and ServeOn has none to stand in. A value in
// Grace may stand in, as the store still has it. If the store cannot be asked, Away decides.
//
// It reads the clock, so it does not depend on timers: a process that was stopped returns
// nothing older. It returns from memory only what stays there for MaxLag at least, as it does
// not know who tells of changes of the rest; and it asks anew for a "not found", unless a
// TakeWithin or GetWithin has found that young enough. fetch is as for Take, and must not take
// the same key. A hit in memory allocates nothing.
func (c *Cache[K, V]) TakeWithin(ctx context.Context, key K, age time.Duration, fetch func(context.Context) (V, error)) (V, error) {
	return c.takeFrom(ctx, key, c.local.link.oldest(age), fetch)
}

// takeFrom is TakeWithin for callers to whom what was current before oldest only is too old.
func (c *Cache[K, V]) takeFrom(ctx context.Context, key K, oldest int64, fetch func(context.Context) (V, error)) (V, error) {
	if value, ok := c.local.youngest(key, oldest, c.local.link.maxLag); ok {
		return c.own(value), nil
	}
	return c.takeAnew(ctx, key, oldest, fetch)
}

// takeAnew is apart so that a hit does not allocate the function.
func (c *Cache[K, V]) takeAnew(ctx context.Context, key K, oldest int64, fetch func(context.Context) (V, error)) (V, error) {
	if fetch == nil {
		panic("near: fetch is nil: want a function")
	}
	take := func(load fetcher[V]) (V, error) { return c.local.within(ctx, key, oldest, load) }
	return c.resolve(key, func(ctx context.Context, _ *cache.Load[V]) (V, error) { return fetch(ctx) }, take)
}

// GetWithin is [Cache.Get] for an answer that is as old as that of [Cache.TakeWithin] at most.
func (c *Cache[K, V]) GetWithin(ctx context.Context, key K, age time.Duration) (value V, ok bool, err error) {
	oldest := c.local.link.oldest(age)
	if value, ok := c.local.youngest(key, oldest, c.local.link.maxLag); ok {
		return c.own(value), true, nil
	}
	value, err = c.local.within(ctx, key, oldest, func(ctx context.Context, l *cache.Load[V]) (V, error) {
		return c.read(ctx, key, l)
	})
	if _, old := err.(*inGrace[V]); old || err == errMissing || errors.Is(err, c.notFound) {
		return value, false, nil
	}
	if err == nil {
		value = c.own(value)
	}
	return value, err == nil, err
}

// TakeWithin is [Local.Take] for callers who say how old the answer may be, whatever MaxLag is:
// it was current, in what the loads read, at some moment of the call or of the age before it. An age of
// 0, and a negative one, calls load anew. All else is as in [Cache.TakeWithin].
func (l *Local[K, V]) TakeWithin(ctx context.Context, key K, age time.Duration, load func(ctx context.Context, l *cache.Load[V]) (V, error)) (V, error) {
	return l.takeFrom(ctx, key, l.link.oldest(age), load)
}

// takeFrom is that of a Cache.
func (l *Local[K, V]) takeFrom(ctx context.Context, key K, oldest int64, load func(context.Context, *cache.Load[V]) (V, error)) (V, error) {
	if value, ok := l.youngest(key, oldest, 0); ok {
		return value, nil
	}
	return l.within(ctx, key, oldest, load)
}

// GetWithin returns the value of a key in memory and true, or false if there is none for which
// the source has vouched at a moment at most age ago. With an age of 0, or a negative one, it
// finds nothing. It allocates nothing.
func (l *Local[K, V]) GetWithin(key K, age time.Duration) (V, bool) {
	return l.youngest(key, l.link.oldest(age), 0)
}

// oldest returns the moment before which nothing is young enough for an age. For 0 that comes
// after every moment: not even a load that began in this nanosecond will do.
func (l *link) oldest(age time.Duration) int64 {
	if age <= 0 {
		return always
	}
	return l.now() - int64(age)
}

// youngest returns the value of a key in memory if the source has vouched for the moment oldest
// or a later one. Only a value that stays for least or longer counts.
func (l *Local[K, V]) youngest(key K, oldest int64, least time.Duration) (value V, ok bool) {
	if l.link.told.Load() < oldest { // before the value is looked up, as in serves
		return value, false
	}
	e, ok := l.cache.Entry(key)
	if !ok || e.TTL < least {
		return value, false
	}
	l.cache.Get(key) // counts the hit, and the use
	return e.Value, true
}

// within is missed for callers to whom a load that began before oldest is too old.
func (l *Local[K, V]) within(ctx context.Context, key K, oldest int64, load func(context.Context, *cache.Load[V]) (V, error)) (V, error) {
	got, ok := l.recent.cache.Peek(key)
	if ok && int64(got.began.Sub(l.link.start)) >= oldest && got.none != errMissing {
		l.counts.recent.Add(1)
		return got.value, got.none
	}
	return l.turns.take(ctx, key, oldest, l.link.now, func(ctx context.Context) (V, error) {
		began := time.Now()
		l.groups.forgetGenerations() // before drop: who joins a load that begins after it needs those of now
		l.drop(key)
		return l.anew(ctx, key, began, load)
	})
}
