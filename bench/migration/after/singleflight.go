package after

import (
	"context"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// Users reads each user once, however many ask at the same time.
type Users struct {
	c    *cache.Cache[string, string]
	load func(ctx context.Context, id string) (string, error)
}

func NewUsers(load func(ctx context.Context, id string) (string, error)) *Users {
	c := cache.Must(cache.Options[string, string]{
		Name:  "users",
		Limit: 100_000,
	})
	return &Users{c, load}
}

func (u *Users) User(ctx context.Context, id string) (string, error) {
	return u.c.TakeCtx(ctx, id, func(ctx context.Context) (string, error) {
		return u.load(ctx, id)
	})
}

func (u *Users) Forget(id string) { u.c.Del(id) }
