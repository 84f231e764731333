// Package sturdyc uses all of sturdyc that can move.
package sturdyc

import (
	"context"
	"time"

	"github.com/viccon/sturdyc"
)

type Orders struct{ c *sturdyc.Client[[]int] }

func New() *Orders { return &Orders{sturdyc.New[[]int](10_000, 10, time.Hour, 10)} }

func (o *Orders) Of(ctx context.Context, user string) ([]int, error) {
	if orders, ok := o.c.Get(user); ok && o.c.Size() > len(o.c.ScanKeys()) {
		return orders, nil
	}
	o.c.Set(user, nil)
	o.c.Delete(user)
	return o.c.GetOrFetch(ctx, user, func(context.Context) ([]int, error) { return []int{1}, nil })
}
