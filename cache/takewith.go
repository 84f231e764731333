package cache

import (
	"context"
	"errors"
	"time"
)

// A Load tells the function of [Cache.TakeWith] about the old value, and the cache about
// the new one. The function must not use it after it has returned.
type Load[V any] struct {
	// Old is the value that the load renews, if HasOld: one that is due for Refresh, or in
	// Grace.
	Old    V
	HasOld bool

	// Expire is the TTL of the new value, of any length. It is that of the options, unless
	// the function changes it. Jitter applies. 0 means for ever. With a negative TTL the
	// value goes to the callers and is not stored, and Old is removed.
	Expire time.Duration

	// Unchanged says that Old is still right: it stays, with a new TTL, and the callers
	// get it. The value that the function returns is ignored, and OnRemove is told
	// nothing. It is an error without Old.
	Unchanged bool

	// NotFound says that the function's error means that there is no value: the statistics
	// count the load as successful. Without an error it has no effect.
	NotFound bool
}

var errUnchanged = errors.New("cache: the function of TakeWith says Unchanged, but there is no Old: look at HasOld first")

// TakeWith is [Cache.TakeCtx] for a fetch that knows more than the value: its TTL, that the
// old value is still right, or that the value is not to be stored. If fetch returns an
// error, only l.NotFound counts.
func (c *Cache[K, V]) TakeWith(ctx context.Context, key K, fetch func(ctx context.Context, l *Load[V]) (V, error)) (V, error) {
	if fetch == nil {
		panic("cache: fetch of TakeWith is nil: want a function")
	}
	var old V
	seen := absent
	if c.renews {
		if old, seen = c.see(key, true); seen == present {
			return old, nil
		}
	} else if value, ok := c.Get(key); ok {
		return value, nil
	}
	return c.takeWith(ctx, key, seen, old, fetch)
}

// TakeMissed is [Cache.TakeWith] for a caller whose Get has just missed the key: it counts
// no second miss. Get and TakeMissed together allocate a function literal for fetch only at
// a miss; TakeWith allocates it at every hit.
func (c *Cache[K, V]) TakeMissed(ctx context.Context, key K, fetch func(ctx context.Context, l *Load[V]) (V, error)) (V, error) {
	if fetch == nil {
		panic("cache: fetch of TakeMissed is nil: want a function")
	}
	var none V
	return c.takeWith(ctx, key, absent, none, fetch)
}

// takeWith is TakeWith after its first look.
func (c *Cache[K, V]) takeWith(ctx context.Context, key K, seen lookup, old V, fetch func(ctx context.Context, l *Load[V]) (V, error)) (V, error) {
	return c.takeSlowCtx(ctx, key, seen, old, func(ctx context.Context, l *load[K, V]) (V, error) {
		old := l.Old // fetch may change l.Load
		value, err := fetch(ctx, &l.Load)
		switch {
		case err != nil || !l.Unchanged:
			return value, err
		case !l.renewal:
			return value, errUnchanged
		}
		return old, nil
	})
}

// keep stores the result of a load, as its fields Expire and Unchanged say. If there is too
// little room in the shard, it returns how much is missing.
func (s *shard[K, V]) keep(l *load[K, V], u *update[K, V]) (missing uint64) {
	switch {
	case l.Expire < 0:
		s.del(l.hash, l.key)
		return 0
	case l.Unchanged:
		s.prolong(u)
		return 0
	}
	return s.put(u)
}

// prolong gives the present value of the key of u another life, unless it has gone.
func (s *shard[K, V]) prolong(u *update[K, V]) {
	i, ok := s.findUsable(u.hash, u.key)
	if !ok {
		return
	}
	s.setLife(i, u.life)
	s.use(i)
	if w := s.common.watch.Load(); w != nil {
		s.common.touched(w, u.hash, u.life.cap)
	}
}
