package after

import (
	"context"
	"errors"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// ErrNoArticle is what the database has for an article that does not exist.
var ErrNoArticle = errors.New("no such article")

// Articles caches the texts of articles.
type Articles struct {
	c       *cache.Cache[int64, string]
	load    func(ctx context.Context, id int64) (string, error)
	loadAll func(ctx context.Context, ids []int64) (map[int64]string, error)
}

func NewArticles(load func(ctx context.Context, id int64) (string, error), loadAll func(ctx context.Context, ids []int64) (map[int64]string, error)) (*Articles, error) {
	c, err := cache.New(cache.Options[int64, string]{
		Name:    "articles",
		Limit:   10_000,
		Expire:  50 * time.Minute,
		Refresh: 0.5,
		Jitter:  0.2,
		Grace:   10 * time.Minute,
		Negative: func(err error) time.Duration {
			if errors.Is(err, ErrNoArticle) {
				return 10 * time.Minute
			}
			return 0
		},
		Patience: time.Second,
		Timeout:  5 * time.Second,
	})
	if err != nil {
		return nil, err
	}
	return &Articles{c, load, loadAll}, nil
}

func (a *Articles) Article(ctx context.Context, id int64) (string, error) {
	return a.c.TakeCtx(ctx, id, func(ctx context.Context) (string, error) { return a.load(ctx, id) })
}

func (a *Articles) Articles(ctx context.Context, ids []int64) (map[int64]string, error) {
	return a.c.TakeMany(ctx, ids, a.loadAll)
}
