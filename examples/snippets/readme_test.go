package snippets

import (
	"context"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/cache/codec"
)

type User struct{ ID int64 }

type database struct{}

func (database) User(context.Context, int64) (*User, error) { return new(User), nil }

func (database) Users(context.Context, []int64) (map[int64]*User, error) { return nil, nil }

func (database) SaveUser(context.Context, *User) error { return nil }

func Cache(ctx context.Context, db database, id int64) (*User, error) {
	users := cache.Must(cache.Options[int64, *User]{
		Name: "users", Limit: 100_000, Expire: time.Minute, Refresh: 0.8, Grace: time.Hour, Timeout: time.Second,
	})

	user, err := users.TakeCtx(ctx, id, func(ctx context.Context) (*User, error) { return db.User(ctx, id) })
	return user, err
}

func WarmStart(ctx context.Context, users *cache.Cache[int64, *User]) (int, error) {
	encode, decode := codec.JSON[int64, *User]() // package cache/codec, or two functions of your own

	restored, err := users.RestoreFile("users.cache", decode) // at the start
	if err != nil {
		return restored, err
	}

	err = users.SaveFile(ctx, "users.cache", encode) // at the end, or at any time
	return restored, err
}
