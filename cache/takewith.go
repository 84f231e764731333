package cache

import (
	"context"
	"errors"
	"time"
)

// A Load is what the function of [Cache.TakeWith] is told about the key, and what it says
// about the value it returns. It is for that call alone: it must not be used after that.
type Load[V any] struct {
	// Old is the value that the cache has and that the load is to renew, if HasOld: one
	// that is due for Refresh, or in Grace.
	Old    V
	HasOld bool

	// Expire is the TTL that the value is to have, of any length: that of the options,
	// unless the function sets it. Jitter applies. 0 means for ever. With a negative TTL
	// the value goes to the callers and is not kept, and Old is removed.
	Expire time.Duration

	// Unchanged says that Old is still right: it stays, with a new TTL, and the callers
	// get it. The value that the function returns is ignored, and OnRemove is told
	// nothing. It is an error without Old.
	Unchanged bool

	// NotFound says that the error which the function returns means that there is no value:
	// the statistics count the load as one that has succeeded. Without an error it does not
	// count.
	NotFound bool
}

var errUnchanged = errors.New("cache: the function of TakeWith says Unchanged, but there is no Old: look at HasOld first")

// TakeWith is [Cache.TakeCtx] for a fetch that knows more than the value: how long it is
// good for, that the old value is still right, or that it is not to be kept. If fetch
// returns an error, only NotFound counts of what it says in l.
func (c *Cache[K, V]) TakeWith(ctx context.Context, key K, fetch func(ctx context.Context, l *Load[V]) (V, error)) (V, error) {
	if fetch == nil {
		panic("cache: TakeWith with a nil fetch")
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

// TakeMissed is [Cache.TakeWith] for a caller whose Get has just missed the key: it is not
// counted as a second miss. A function literal for fetch, which TakeWith has allocated for
// every hit, is allocated then for misses only.
func (c *Cache[K, V]) TakeMissed(ctx context.Context, key K, fetch func(ctx context.Context, l *Load[V]) (V, error)) (V, error) {
	if fetch == nil {
		panic("cache: TakeMissed with a nil fetch")
	}
	var none V
	return c.takeWith(ctx, key, absent, none, fetch)
}

// takeWith is TakeWith after its first look.
func (c *Cache[K, V]) takeWith(ctx context.Context, key K, seen sight, old V, fetch func(ctx context.Context, l *Load[V]) (V, error)) (V, error) {
	return c.obtain(ctx, key, seen, old, func(ctx context.Context, l *load[K, V]) (V, error) {
		old := l.Old // l.Load is the function's to change
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

// keep does with the result of a load what the load says. If there is too little room in
// the shard it returns how much is missing.
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

// prolong gives the value that the key of u has another life, unless it has gone.
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
