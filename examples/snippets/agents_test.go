package snippets

import (
	"context"
	"database/sql"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

func Agents(ctx context.Context, db interface {
	User(context.Context, int64) (*User, error)
}, id int64) (*User, error) {
	users, err := cache.New(cache.Options[int64, *User]{
		Name:    "users",   // a constant: it is a label of the metrics
		Limit:   100_000,   // entries
		Expire:  time.Hour, // with a unit: 60*60 is refused
		Jitter:  0.05,
		Timeout: 5 * time.Second,
	})
	if err != nil {
		return nil, err // the options are wrong; it says what to write
	}

	user, err := users.TakeCtx(ctx, id, func(ctx context.Context) (*User, error) {
		return db.User(ctx, id)
	})
	return user, err
}

func AfterCommit(tx *sql.Tx, users *cache.Cache[int64, *User], id int64) error {
	if err := tx.Commit(); err != nil {
		return err
	}
	users.Del(id)
	return nil
}
