package main

import (
	"context"
	"time"

	"github.com/Yiling-J/theine-go"

	"github.com/pinwheel-cache/pinwheel/proof/lincheck"
)

func openTheine(c config) (*lincheck.Subject, func()) {
	b := theine.NewBuilder[int, wide](int64(c.limit))
	if c.loads {
		return openTheineLoading(c, b)
	}
	t, err := b.Build()
	if err != nil {
		panic(err)
	}
	s := &lincheck.Subject{
		Get:    func(key int) (int64, bool) { return narrowed(t.Get(key)) },
		Set:    func(key int, value int64) { t.SetWithTTL(key, widen(value, 0), 1, c.ttl) },
		Remove: t.Delete,
		SetWithExpire: func(key int, value int64, ttl time.Duration) {
			t.SetWithTTL(key, widen(value, 0), 1, ttl)
		},
	}
	return s, t.Close
}

type fetchKey struct{}

// openTheineLoading opens theine's other type of cache, which loads. Its loader is fixed, so
// it takes the fetch from the context; its Get always loads, so Range stands in for Get.
func openTheineLoading(c config, b *theine.Builder[int, wide]) (*lincheck.Subject, func()) {
	t, err := b.BuildWithLoader(func(ctx context.Context, _ int) (theine.Loaded[wide], error) {
		value, err := ctx.Value(fetchKey{}).(func() (int64, error))()
		return theine.Loaded[wide]{Value: widen(value, 0), Cost: 1, TTL: c.ttl}, err
	})
	if err != nil {
		panic(err)
	}
	s := &lincheck.Subject{
		Get: func(key int) (value int64, ok bool) {
			t.Range(func(k int, v wide) bool {
				if ok = k == key; ok {
					value = v.narrow()
				}
				return !ok
			})
			return value, ok
		},
		Set:    func(key int, value int64) { t.SetWithTTL(key, widen(value, 0), 1, c.ttl) },
		Remove: t.Delete,
		SetWithExpire: func(key int, value int64, ttl time.Duration) {
			t.SetWithTTL(key, widen(value, 0), 1, ttl)
		},
		Take: func(key int, fetch func() (int64, error)) (int64, error) {
			v, err := t.Get(context.WithValue(context.Background(), fetchKey{}, fetch), key)
			return v.narrow(), err
		},
	}
	return s, t.Close
}
