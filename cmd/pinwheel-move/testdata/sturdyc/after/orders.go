// Package sturdyc uses all of sturdyc that can move.
package sturdyc

import (
	"context"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

type Orders struct{ c *cache.Cache[string, []int] }

func New() *Orders {
	return &Orders{cache.Must(cache.Options[string, []int]{Limit: 10_000, Expire: time.Hour})}
}

func (o *Orders) Of(ctx context.Context, user string) ([]int, error) {
	if orders, ok := o.c.Get(user); ok && o.c.Len() > len(cacheKeys(o.c)) {
		return orders, nil
	}
	o.c.Set(user, nil)
	o.c.Del(user)
	return o.c.TakeCtx(ctx, user, func(context.Context) ([]int, error) { return []int{1}, nil })
}
