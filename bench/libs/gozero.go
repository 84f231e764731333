package libs

import (
	"time"

	"github.com/zeromicro/go-zero/core/collection"
	"github.com/zeromicro/go-zero/core/logx"
)

type goZero struct {
	c    *collection.Cache
	load func(string) (*uint64, error)
}

func newGoZero(c Config[string, *uint64]) Cache[string, *uint64] {
	logx.Disable() // its statistics, every minute
	z, err := collection.NewCache(c.TTL, collection.WithLimit(c.Capacity))
	if err != nil {
		panic(err)
	}
	return goZero{z, c.Load}
}

func (z goZero) Get(key string) (*uint64, bool) {
	value, ok := z.c.Get(key)
	if !ok {
		return nil, false
	}
	return value.(*uint64), true
}

func (z goZero) Set(key string, value *uint64) { z.c.Set(key, value) }

func (z goZero) SetTTL(key string, value *uint64, ttl time.Duration) {
	z.c.SetWithExpire(key, value, ttl)
}

func (z goZero) Take(key string) (*uint64, error) {
	value, err := z.c.Take(key, func() (any, error) { return z.load(key) })
	if err != nil {
		return nil, err
	}
	return value.(*uint64), nil
}
