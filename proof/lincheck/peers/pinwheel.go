package main

import (
	"context"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/proof/lincheck"
)

func openPinwheel(c config) (*lincheck.Subject, func()) {
	o := cache.Options[int, wide]{Limit: c.limit, Expire: c.ttl}
	if c.refresh {
		o.Expire, o.Refresh = time.Hour, 1e-9
	}
	p := cache.Must(o)
	s := &lincheck.Subject{
		Get:           func(key int) (int64, bool) { return narrowed(p.Get(key)) },
		Peek:          func(key int) (int64, bool) { return narrowed(p.Peek(key)) },
		Set:           func(key int, value int64) { p.Set(key, widen(value, 0)) },
		SetWithExpire: func(key int, value int64, ttl time.Duration) { p.SetWithExpire(key, widen(value, 0), ttl) },
		Del:           p.Del,
		Touch:         p.Touch,
		GetOrSet:      func(key int, value int64) (int64, bool) { return narrowed(p.GetOrSet(key, widen(value, 0))) },
		Compute: func(key int, f func(int64, bool) (int64, lincheck.Action)) (int64, bool) {
			return narrowed(p.ComputeWithExpire(key, c.ttl, func(old wide, found bool) (wide, cache.Op) {
				value, does := f(old.narrow(), found)
				return widen(value, 0), cache.Op(does)
			}))
		},
		Take: func(key int, fetch func() (int64, error)) (int64, error) {
			v, err := p.Take(key, func() (wide, error) {
				value, err := fetch()
				return widen(value, 0), err
			})
			return v.narrow(), err
		},
		Clear: p.Clear,
	}
	if c.refresh {
		s.Detached, s.TakeMany = true, pinwheelTakeMany(p)
		s.Take = func(key int, fetch func() (int64, error)) (int64, error) {
			v, err := p.TakeCtx(context.Background(), key, func(context.Context) (wide, error) {
				value, err := fetch()
				return widen(value, 0), err
			})
			return v.narrow(), err
		}
		s.Settle = func() { wait(func() bool { return p.Stats().Loads.Running == 0 }) }
	}
	return s, func() { _ = p.Close(context.Background()) } // it has no callbacks to wait for
}

func pinwheelTakeMany(p *cache.Cache[int, wide]) func([]int, func([]int) (map[int]int64, error)) (map[int]int64, error) {
	return func(keys []int, fetch func([]int) (map[int]int64, error)) (map[int]int64, error) {
		values, err := p.TakeMany(context.Background(), keys, func(_ context.Context, missing []int) (map[int]wide, error) {
			fetched, err := fetch(missing)
			return widenAll(fetched, 0), err
		})
		return narrowAll(values), err
	}
}
