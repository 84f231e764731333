package lincheck

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// parts are values whose parts are all equal, unless a read is torn. Reading a large one
// keeps a reader within the lock for most of the time; with small ones there are more
// operations, closer together.
type parts interface{ [8]int64 | [256]int64 }

func widen[V parts](value int64) (v V) {
	for i := range len(v) {
		v[i] = value
	}
	return v
}

func narrow[V parts](v V) int64 {
	for i := range len(v) {
		if v[i] != v[0] {
			return Torn
		}
	}
	return v[0]
}

func narrowed[V parts](v V, ok bool) (int64, bool) { return narrow(v), ok }

// pinwheel returns this module's cache as a Subject. With ctx, Take has a context that can
// end, so that each fetch has a goroutine of its own. Compute gives a new TTL, as in the
// model.
func pinwheel[V parts](c *cache.Cache[int, V], expire time.Duration, ctx bool) *Subject {
	s := &Subject{
		Get:           func(key int) (int64, bool) { return narrowed(c.Get(key)) },
		Peek:          func(key int) (int64, bool) { return narrowed(c.Peek(key)) },
		Set:           func(key int, value int64) { c.Set(key, widen[V](value)) },
		SetWithExpire: func(key int, value int64, ttl time.Duration) { c.SetWithExpire(key, widen[V](value), ttl) },
		Del:           c.Del,
		Touch:         c.Touch,
		GetOrSet:      func(key int, value int64) (int64, bool) { return narrowed(c.GetOrSet(key, widen[V](value))) },
		Compute: func(key int, f func(int64, bool) (int64, Action)) (int64, bool) {
			return narrowed(c.ComputeWithExpire(key, expire, func(old V, found bool) (V, cache.Op) {
				value, does := f(narrow(old), found)
				return widen[V](value), cache.Op(does)
			}))
		},
		Clear: c.Clear,
		DelFunc: func(del func(int64) bool) {
			c.DelFunc(func(_ int, value V) bool {
				runtime.Gosched()
				return del(narrow(value))
			})
		},
	}
	s.TakeMany = func(keys []int, fetch func([]int) (map[int]int64, error)) (map[int]int64, error) {
		parent, cancel := context.WithCancel(context.Background())
		defer cancel()
		if !ctx {
			parent = context.Background()
		}
		wide, err := c.TakeMany(parent, keys, func(_ context.Context, missing []int) (map[int]V, error) {
			values, err := fetch(missing)
			wide := make(map[int]V)
			for key, value := range values {
				wide[key] = widen[V](value)
			}
			return wide, err
		})
		values := make(map[int]int64)
		for key, value := range wide {
			values[key] = narrow(value)
		}
		return values, err
	}
	s.Refresh = func(key int, fetch func() (int64, error)) {
		parent, cancel := context.WithCancel(context.WithValue(context.Background(), fetchOf, fetch))
		defer cancel()
		if !ctx {
			parent = context.WithoutCancel(parent)
		}
		if key%2 == 0 {
			_ = c.Refresh(parent, key)
			return
		}
		_, _ = c.TakeEntry(parent, key, cache.Within(0), nil)
	}
	s.Take = func(key int, fetch func() (int64, error)) (int64, error) {
		wide := func() (V, error) {
			value, err := fetch()
			return widen[V](value), err
		}
		if !ctx {
			v, err := c.Take(key, wide)
			return narrow(v), err
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		v, err := c.TakeCtx(ctx, key, func(context.Context) (V, error) { return wide() })
		return narrow(v), err
	}
	return s
}

// fetchOf is the key by which the context of a Refresh has the function that its load calls.
var fetchOf = new(byte)

// load is the option Load.
func load[V parts](ctx context.Context, _ int, _ *cache.Load[V]) (V, error) {
	value, err := ctx.Value(fetchOf).(func() (int64, error))()
	return widen[V](value), err
}

// open returns a new cache, which is closed when the test ends.
func open[V parts](t *testing.T, c config) *Subject {
	o := cache.Options[int, V]{
		Limit: c.limit, MaxWeight: c.maxWeight, Expire: c.expire, Idle: c.idle, Policy: c.policy,
		Load: load[V], Refresh: c.refresh, Grace: c.grace, Patience: c.patience, MaxLoads: c.maxLoads,
	}
	if c.maxWeight > 0 {
		o.Weigh = func(_ int, v V) uint32 { return c.weigh(v[0]) }
	}
	if c.events {
		o.OnRemove = func(cache.Event[int, V]) { runtime.Gosched() }
	}
	made, err := cache.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := made.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if c.resize > 0 {
		if err := made.Resize(c.resize); err != nil {
			t.Fatal(err)
		}
	}
	s := pinwheel(made, o.Expire, c.ctx)
	if s.Detached = c.detached(); s.Detached {
		s.Settle = func() {
			for made.Stats().Loads.Running > 0 {
				time.Sleep(10 * time.Microsecond)
			}
		}
	}
	return s
}
