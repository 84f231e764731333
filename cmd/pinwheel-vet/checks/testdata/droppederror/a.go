package droppederror

import (
	"context"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/near"
)

func all(ctx context.Context, c *cache.Cache[string, int], n *near.Cache[string, int], l *near.Local[string, int]) error {
	n.Del(ctx, "a")    // want `the error of Del is dropped: what was there may be served on`
	go n.Del(ctx, "a") // want `the error of Del is dropped`
	defer n.Del(ctx)   // want `the error of Del is dropped`
	n.Set(ctx, "a", 1) // want `the error of Set is dropped: other instances may keep what was there`
	_ = n.Del(ctx, "a")
	if err := n.Del(ctx, "a"); err != nil {
		return err
	}
	c.Del("a") // it says whether there was one
	c.Set("a", 1)
	defer l.Close(ctx)
	c.Close(ctx) // want `the error of Close is dropped: some loads or callbacks may not have ended`
	return n.Close(ctx)
}
