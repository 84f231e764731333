package snippets

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/stats"
)

func ServiceWithCache(ctx context.Context, db database, id int64, ids []int64) (*User, error) {
	users, err := cache.New(cache.Options[int64, *User]{
		Name:    "users",          // on the page and in metrics
		Limit:   100_000,          // entries; without it the cache grows without limit
		Expire:  time.Minute,      // a Duration: 60 is refused
		Jitter:  0.1,              // so that values stored together do not expire together
		Refresh: 0.8,              // from about 48 s on load anew, in the background
		Grace:   10 * time.Minute, // old values are returned while the database fails
		Timeout: 2 * time.Second,  // of a load
		Negative: func(err error) time.Duration { // keep "not found", no other error
			if errors.Is(err, sql.ErrNoRows) || errors.Is(err, cache.ErrNotFound) {
				return 10 * time.Second
			}
			return 0
		},
	})
	if err != nil {
		return nil, err
	}

	user, err := users.TakeCtx(ctx, id, func(ctx context.Context) (*User, error) { return db.User(ctx, id) })
	if err != nil {
		return nil, err
	}

	found, err := users.TakeMany(ctx, ids, func(ctx context.Context, missing []int64) (map[int64]*User, error) {
		return db.Users(ctx, missing)
	})
	if err != nil {
		return found[id], err
	}

	http.Handle("/cache/", stats.Handler())
	return user, nil
}

func Write(ctx context.Context, db database, users *cache.Cache[int64, *User], user *User) error {
	if err := db.SaveUser(ctx, user); err != nil {
		return err
	}
	users.Del(user.ID)
	return nil
}
