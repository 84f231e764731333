package snippets

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

type person struct{}

type persons interface {
	User(ctx context.Context, id int64) (*person, error)
	Users(ctx context.Context, ids []int64) (map[int64]*person, error)
}

func Fresh(ctx context.Context, id int64, ids []int64, db persons) (map[int64]*person, error) {
	type User = person

	users, err := cache.New(cache.Options[int64, *User]{
		Limit:    100_000,
		Expire:   time.Minute,
		Jitter:   0.1,
		Refresh:  0.8,                    // from about 48 s on, have it loaded anew
		Grace:    10 * time.Minute,       // a value up to 11 minutes old, rather than an error
		Patience: 200 * time.Millisecond, // or than to wait for longer
		Timeout:  5 * time.Second,
		MaxLoads: 50,
		Negative: func(err error) time.Duration {
			if errors.Is(err, sql.ErrNoRows) || errors.Is(err, cache.ErrNotFound) {
				return 10 * time.Second
			}
			return 0 // other errors are not kept
		},
		Load: func(ctx context.Context, id int64, _ *cache.Load[*User]) (*User, error) { return db.User(ctx, id) },
		LoadMany: func(ctx context.Context, ids []int64, _ []*cache.Load[*User]) (map[int64]*User, error) {
			return db.Users(ctx, ids) // SELECT ... WHERE id IN (...)
		},
	})
	if err != nil {
		return nil, err
	}

	user, err := users.Fetch(ctx, id)
	if err != nil {
		return map[int64]*User{id: user}, err
	}

	found, err := users.FetchMany(ctx, ids)
	return found, err
}

func Several(ctx context.Context, ids []int64, db persons, users *cache.Cache[int64, *person]) (map[int64]*person, error) {
	type User = person

	found, err := users.TakeMany(ctx, ids, func(ctx context.Context, missing []int64) (map[int64]*User, error) {
		return db.Users(ctx, missing) // SELECT ... WHERE id IN (...)
	})
	return found, err
}

func WithLoads(ctx context.Context, keys []int64, c *cache.Cache[int64, *person], load func(ctx context.Context, missing []int64, loads []*cache.Load[*person]) (map[int64]*person, error)) (map[int64]*person, error) {
	found, err := c.TakeMany(ctx, keys, cache.WithLoads(load))
	return found, err
}

type document struct{ ETag string }

type answer struct {
	Page        document
	NotModified bool
	MaxAge      time.Duration
}

func Fetched(ctx context.Context, url string, pages *cache.Cache[string, document], get func(ctx context.Context, url, etag string) (answer, error)) (document, error) {
	type Page = document

	page, err := pages.TakeWith(ctx, url, func(ctx context.Context, l *cache.Load[Page]) (Page, error) {
		answer, err := get(ctx, url, l.Old.ETag) // empty without an old page
		if err == nil && answer.NotModified && l.HasOld {
			l.Unchanged = true
			return l.Old, nil
		}
		l.Expire = answer.MaxAge
		return answer.Page, err
	})
	return page, err
}

func Tuned(users *cache.Cache[int64, *person]) (cache.Tuning, error) {
	now, err := users.Tune(func(t *cache.Tuning) {
		t.MaxLoads, t.Grace = 10, time.Hour // the database is weak: fewer loads, older values
	})
	return now, err
}
