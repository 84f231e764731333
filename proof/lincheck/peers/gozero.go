package main

import (
	"strconv"
	"time"

	"github.com/zeromicro/go-zero/core/collection"
	"github.com/zeromicro/go-zero/core/logx"

	"github.com/pinwheel-cache/pinwheel/proof/lincheck"
)

// openGoZero returns a cache in which nothing expires during the check; goZeroExpiry checks
// expiry. It cannot be closed.
func openGoZero(c config) (*lincheck.Subject, func()) {
	z := newGoZero(time.Hour, collection.WithLimit(c.limit))
	return &lincheck.Subject{
		Get:    z.get,
		Set:    z.set,
		Remove: z.del,
		Take: func(key int, fetch func() (int64, error)) (int64, error) {
			v, err := z.Take(strconv.Itoa(key), func() (any, error) {
				value, err := fetch()
				return widen(value, 0), err
			})
			if err != nil {
				return 0, err
			}
			return v.(wide).narrow(), nil
		},
	}, func() {}
}

type goZero struct{ *collection.Cache }

func newGoZero(expire time.Duration, options ...collection.CacheOption) goZero {
	logx.Disable() // its statistics, every minute
	c, err := collection.NewCache(expire, options...)
	if err != nil {
		panic(err)
	}
	return goZero{c}
}

func (z goZero) get(key int) (int64, bool) {
	v, ok := z.Get(strconv.Itoa(key))
	if !ok {
		return 0, false
	}
	return v.(wide).narrow(), true
}

func (z goZero) del(key int) { z.Del(strconv.Itoa(key)) }

func (z goZero) set(key int, value int64) { z.Set(strconv.Itoa(key), widen(value, 0)) }
