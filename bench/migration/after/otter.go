package after

import (
	"context"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// Products caches the names of products.
type Products struct {
	c    *cache.Cache[int64, string]
	load func(ctx context.Context, id int64) (string, error)
}

func NewProducts(load func(ctx context.Context, id int64) (string, error)) (*Products, error) {
	c, err := cache.New(cache.Options[int64, string]{
		Name:   "products",
		Limit:  10_000,
		Expire: 10 * time.Minute,
	})
	if err != nil {
		return nil, err
	}
	return &Products{c, load}, nil
}

func (p *Products) Product(ctx context.Context, id int64) (string, error) {
	return p.c.TakeCtx(ctx, id, func(ctx context.Context) (string, error) {
		return p.load(ctx, id)
	})
}

// Lend shows a name that will soon end.
func (p *Products) Lend(id int64, name string, d time.Duration) {
	p.c.SetWithExpire(id, name, d)
}

// Drop returns the name that it removes.
func (p *Products) Drop(id int64) (name string, ok bool) {
	return p.c.GetAndDel(id)
}
