package fetchcontext

import (
	"context"
	"net/http"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/near"
)

func query(ctx context.Context) (int, error)     { return 0, ctx.Err() }
func spanFromContext(ctx context.Context) string { return "" }

type service struct {
	users *cache.Cache[string, int]
	near  *near.Cache[string, int]
	ctx   context.Context
}

func (s service) user(ctx context.Context) {
	_, _ = s.users.TakeCtx(ctx, "a", func(context.Context) (int, error) {
		return query(ctx) // want `the fetch of TakeCtx uses its caller's context, but other callers share the fetch: use the context that the fetch gets`
	})
	_, _ = s.users.TakeCtx(ctx, "a", func(ctx context.Context) (int, error) { return query(ctx) })
	_, _ = s.users.TakeCtx(ctx, "a", query)
	_, _ = s.users.Take("a", func() (int, error) {
		return query(ctx) // want `use TakeCtx, whose fetch gets one`
	})
	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, _ = s.near.Take(ctx, "a", func(own context.Context) (int, error) {
		longer, cancel := context.WithTimeout(own, time.Minute)
		defer cancel()
		if n, err := query(longer); err == nil {
			return n, nil
		}
		return query(short) // want `the fetch of Take uses its caller's context`
	})
	_, _ = s.users.TakeCtx(ctx, "a", func(own context.Context) (int, error) {
		_, _ = ctx.Value("tenant").(string)
		_ = spanFromContext(ctx)
		_, _ = query(context.WithoutCancel(ctx))
		_, _ = query(s.ctx)
		_, _ = query(context.WithValue(own, "a", ctx.Value("a")))
		return query(context.Background())
	})
}

func (s service) handle(_ http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	_, _ = s.users.Take("a", func() (int, error) { return query(ctx) })         // want `the fetch of Take uses`
	_, _ = s.users.Take("a", func() (int, error) { return query(r.Context()) }) // want `the fetch of Take uses`
}

func (s service) background() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_, _ = s.users.Take("a", func() (int, error) { return query(ctx) })
}
