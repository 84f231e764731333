package snippets

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/postgres"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/near/relay"
	"github.com/redis/rueidis"
)

func truthInBrief(pool *pgxpool.Pool) error {
	var tables = []postgres.Table{{Name: "users", Keys: []string{"user:{id}", "user:email:{email}"}}}

	changes, err := postgres.NewChanges(pool, postgres.ChangesOptions{Tables: tables})
	if err != nil {
		return err
	}
	users, err := near.NewLocal[int64, User](changes, near.LocalOptions[int64, User]{Prefix: "user:", MaxLag: time.Second})
	_ = users
	return err
}

func truth(ctx context.Context, pool *pgxpool.Pool) error {
	var tables = []postgres.Table{
		{Name: "users", Keys: []string{"user:{id}", "user:email:{email}"}},
		{Name: "orders", Keys: []string{"orders of {user_id}"}}, // of the old row and the new one
	}

	if _, err := pool.Exec(ctx, postgres.SQL(tables...)); err != nil { // as the owner of the tables
		return err
	}
	if _, err := pool.Exec(ctx, "GRANT USAGE ON SCHEMA pinwheel TO app"); err != nil { // who watches; writers need nothing
		return err
	}

	changes, err := postgres.NewChanges(pool, postgres.ChangesOptions{Tables: tables})
	if err != nil {
		return err // it says what is missing, and what to run
	}
	users, err := near.NewLocal[int64, User](changes, near.LocalOptions[int64, User]{Prefix: "user:", MaxLag: time.Second})
	_ = users
	return err
}

func truthByRelay(ctx context.Context, pool *pgxpool.Pool, tables []postgres.Table) error {
	changes, err := postgres.NewChanges(pool, postgres.ChangesOptions{Tables: tables})
	if err != nil {
		return err
	}
	shared, err := redis.New(ctx, redis.Options{Client: rueidis.ClientOption{InitAddress: []string{"127.0.0.1:6379"}}, Prefixes: []string{"user:"}})
	if err != nil {
		return err
	}
	go relay.Run(ctx, changes, shared, relay.Options{}) // until ctx ends
	truth := relay.Follow(changes, shared, shared)
	users, err := near.New(truth, truth, near.Options[int64, User]{Prefix: "user:", MaxLag: time.Second})
	_ = users
	return err
}

var _, _, _ = truth, truthInBrief, truthByRelay
