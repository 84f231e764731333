package ownkey

import (
	"context"

	"github.com/pinwheel-cache/pinwheel/cache"
)

type tree struct {
	nodes, others *cache.Cache[int, int]
}

func (t tree) depth(ctx context.Context, node int) (int, error) {
	return t.nodes.TakeCtx(ctx, node, func(own context.Context) (int, error) {
		if n, err := t.nodes.Take(node/2, func() (int, error) { return 0, nil }); err == nil { // want `Take of the cache whose fetch this is: if it comes to the same key it waits for itself`
			return n, nil
		}
		if n, err := t.nodes.TakeCtx(ctx, node/2, func(context.Context) (int, error) { return 0, nil }); err == nil { // want `TakeCtx of the cache`
			return n, nil
		}
		if n, err := t.others.Take(node/2, func() (int, error) { return 0, nil }); err == nil {
			return n, nil
		}
		return t.nodes.TakeCtx(own, node/2, func(context.Context) (int, error) { return 0, nil })
	})
}
