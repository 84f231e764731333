package cache

import (
	"context"
	"testing"
)

// BenchmarkTakeCtxMiss has loads of a request: with a context that can end.
func BenchmarkTakeCtxMiss(b *testing.B) {
	c := Must(Options[int, int]{Limit: 1000, Unlisted: true})
	defer c.Close(context.Background())
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		c.TakeCtx(ctx, i, func(context.Context) (int, error) { return i, nil })
	}
}
