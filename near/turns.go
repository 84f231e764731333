package near

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// turns are the loads of TakeWithin and GetWithin. A key has one that runs, at most, and one that
// waits for its end, which is shared by all who may not have the result of the one that runs.
type turns[K comparable, V any] struct {
	loads *cache.Cache[*turn, V] // keeps nothing: it has the callers of each turn

	mu    sync.Mutex
	byKey map[K]*turn // the latest one of each key that has not ended
}

// A turn is one load.
type turn struct {
	before *turn // which runs while this one waits, or nil
	began  int64 // always before it begins, never after forget; guarded by turns.mu
	ended  chan struct{}
	end    sync.Once
}

func newTurns[K comparable, V any]() *turns[K, V] {
	return &turns[K, V]{loads: cache.Must(cache.Options[*turn, V]{Unlisted: true}), byKey: make(map[K]*turn)}
}

// join returns a turn of a key that begins later than now, or has begun at oldest or later.
func (a *turns[K, V]) join(key K, oldest int64) *turn {
	a.mu.Lock()
	defer a.mu.Unlock()
	latest := a.byKey[key]
	if latest != nil && latest.began >= oldest {
		return latest
	}
	t := &turn{before: latest, began: always, ended: make(chan struct{})}
	a.byKey[key] = t
	return t
}

// forget keeps callers from joining a turn of a key that has begun.
func (a *turns[K, V]) forget(key K) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if latest := a.byKey[key]; latest != nil && latest.began != always {
		latest.began = never
	}
}

// forgetAll keeps callers from joining any turn that has begun.
func (a *turns[K, V]) forgetAll() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, latest := range a.byKey {
		if latest.began != always {
			latest.began = never
		}
	}
}

// begin waits until the turn before has ended, and begins this one.
func (a *turns[K, V]) begin(ctx context.Context, t *turn, now func() int64) error {
	if t.before != nil {
		select {
		case <-t.before.ended:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	t.before, t.began = nil, now()
	return nil
}

// finish ends a turn, once.
func (a *turns[K, V]) finish(key K, t *turn) {
	a.mu.Lock()
	if a.byKey[key] == t {
		delete(a.byKey, key)
	}
	a.mu.Unlock()
	t.end.Do(func() { close(t.ended) })
}

// take calls load for the callers of a turn. If all of them leave, the next turn need not wait
// for a load that goes on.
func (a *turns[K, V]) take(ctx context.Context, key K, oldest int64, now func() int64, load func(context.Context) (V, error)) (V, error) {
	t := a.join(key, oldest)
	return a.loads.TakeMissed(ctx, t, func(ctx context.Context, l *cache.Load[V]) (V, error) {
		l.Expire = -1
		defer a.finish(key, t)
		defer context.AfterFunc(ctx, func() { a.finish(key, t) })()
		if err := a.begin(ctx, t, now); err != nil {
			var none V
			return none, err
		}
		return load(ctx)
	})
}

// anew is missed for a key that has been dropped since began. What it brings is also kept with
// that moment, for MaxLag since then.
func (l *Local[K, V]) anew(ctx context.Context, key K, began time.Time, load func(context.Context, *cache.Load[V]) (V, error)) (value V, err error) {
	if !l.covers(l.key(key)) || !l.link.serves() {
		return l.unvouched(ctx, key, load)
	}
	got, err := l.recent.cache.TakeMissed(ctx, key, func(ctx context.Context, outer *cache.Load[loaded[V]]) (loaded[V], error) {
		value, told, err := l.told(ctx, key, load)
		if err != nil && !told.NotFound {
			return loaded[V]{}, err
		}
		told.Err = err
		return l.recent.result(outer, &told, value, began, true)
	})
	return got.value, errOf(got, err)
}

// told is missed for callers who must know what the load was told: it joins no load that fails,
// as whoever gets "not found" must also get its age.
func (l *Local[K, V]) told(ctx context.Context, key K, load func(context.Context, *cache.Load[V]) (V, error)) (value V, told cache.Load[V], err error) {
	for {
		var called atomic.Bool
		var returned atomic.Pointer[cache.Load[V]] // the load may go on when all callers have left
		value, err = l.cache.TakeMissed(ctx, key, func(ctx context.Context, inner *cache.Load[V]) (V, error) {
			called.Store(true)
			value, err := load(ctx, inner)
			returned.Store(&cache.Load[V]{Expire: inner.Expire, NotFound: inner.NotFound, KeepError: inner.KeepError})
			return value, err
		})
		if its := returned.Load(); its != nil {
			return value, *its, err
		}
		if err == nil || called.Load() || context.Cause(ctx) != nil {
			return value, cache.Load[V]{Expire: -1}, err
		}
		l.cache.Del(key) // it may have kept the error
	}
}

// errOf returns the error of a load, or that there is no value.
func errOf[V any](got loaded[V], err error) error {
	if err != nil {
		return err
	}
	return got.none
}
