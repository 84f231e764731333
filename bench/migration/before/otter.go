package before

import (
	"context"
	"time"

	"github.com/maypok86/otter/v2"
)

// Products caches the names of products.
type Products struct {
	c    *otter.Cache[int64, string]
	load otter.LoaderFunc[int64, string]
}

func NewProducts(load func(ctx context.Context, id int64) (string, error)) (*Products, error) {
	c, err := otter.New(&otter.Options[int64, string]{
		MaximumSize:      10_000,
		ExpiryCalculator: otter.ExpiryWriting[int64, string](10 * time.Minute),
	})
	if err != nil {
		return nil, err
	}
	return &Products{c, load}, nil
}

func (p *Products) Product(ctx context.Context, id int64) (string, error) {
	return p.c.Get(ctx, id, p.load)
}

// Lend shows a name that will soon end.
func (p *Products) Lend(id int64, name string, d time.Duration) {
	p.c.Set(id, name)
	p.c.SetExpiresAfter(id, d)
}

// Drop returns the name that it removes.
func (p *Products) Drop(id int64) (string, bool) { return p.c.Invalidate(id) }
