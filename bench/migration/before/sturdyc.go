package before

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/viccon/sturdyc"
)

// ErrNoArticle is what the database has for an article that does not exist.
var ErrNoArticle = errors.New("no such article")

// Articles caches the texts of articles.
type Articles struct {
	c       *sturdyc.Client[string]
	load    func(ctx context.Context, id string) (string, error)
	loadAll func(ctx context.Context, ids []string) (map[string]string, error)
}

func NewArticles(load func(ctx context.Context, id string) (string, error), loadAll func(ctx context.Context, ids []string) (map[string]string, error)) (*Articles, error) {
	c := sturdyc.New[string](10_000, 10, time.Hour, 10,
		sturdyc.WithEarlyRefreshes(20*time.Minute, 30*time.Minute, 50*time.Minute, time.Second),
		sturdyc.WithMissingRecordStorage(),
		sturdyc.WithNoContinuousEvictions())
	return &Articles{c, load, loadAll}, nil
}

func (a *Articles) Article(ctx context.Context, id int64) (string, error) {
	key := strconv.FormatInt(id, 10)
	text, err := a.c.GetOrFetch(ctx, a.c.BatchKeyFn("article")(key), func(ctx context.Context) (string, error) {
		text, err := a.load(ctx, key)
		if errors.Is(err, ErrNoArticle) {
			err = sturdyc.ErrNotFound
		}
		return text, err
	})
	if errors.Is(err, sturdyc.ErrMissingRecord) {
		err = ErrNoArticle
	}
	return text, err
}

func (a *Articles) Articles(ctx context.Context, ids []int64) (map[int64]string, error) {
	var keys []string
	for _, id := range ids {
		keys = append(keys, strconv.FormatInt(id, 10))
	}
	texts, err := a.c.GetOrFetchBatch(ctx, keys, a.c.BatchKeyFn("article"), a.loadAll)
	byID := make(map[int64]string, len(texts))
	for key, text := range texts {
		id, err := strconv.ParseInt(key, 10, 64)
		if err != nil {
			return nil, err
		}
		byID[id] = text
	}
	return byID, err
}
