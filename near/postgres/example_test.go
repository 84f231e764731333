package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/postgres"
)

var names = []postgres.Table{{Name: "users", Keys: []string{"name:{id}"}}}

// A name that is read from the database once, and from memory until somebody changes it there, with psql too.
func ExampleNewChanges() {
	ctx := context.Background()
	db, err := pgxpool.New(ctx, "postgres://app@localhost/app")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	changes, err := postgres.NewChanges(db, postgres.ChangesOptions{Tables: names})
	if err != nil {
		fmt.Println(err) // it says which migration to run
		return
	}
	users, err := near.NewLocal[int64, string](changes, near.LocalOptions[int64, string]{
		Cache: cache.Options[int64, string]{Name: "names", Limit: 10_000}, Prefix: "name:", MaxLag: time.Second,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer users.Close(ctx)
	name, err := users.Take(ctx, 7, func(ctx context.Context, l *cache.Load[string]) (name string, err error) {
		err = db.QueryRow(ctx, "SELECT name FROM users WHERE id = $1", 7).Scan(&name)
		if errors.Is(err, pgx.ErrNoRows) {
			err = near.ErrNotFound
		}
		return name, err
	})
	fmt.Println(name, err)
}

// The way back of a migration.
func ExampleDropSQL() {
	fmt.Print(postgres.DropSQL(names...)) // of these tables
	fmt.Print(postgres.DropSQL())         // of all
	// Output:
	// DO 'BEGIN IF to_regprocedure(''pinwheel.unwatch(text)'') IS NOT NULL THEN PERFORM pinwheel.unwatch(''"users"''); END IF; END';
	// DROP SCHEMA IF EXISTS pinwheel CASCADE;
}

// A load that reads a standby waits until that shows what was told.
func ExampleChanges_AwaitReplay() {
	var changes *postgres.Changes // of NewChanges, over the primary
	load := func(ctx context.Context, standby *pgxpool.Pool, id int64) (name string, err error) {
		conn, err := standby.Acquire(ctx)
		if err != nil {
			return "", err
		}
		defer conn.Release()
		if err := changes.AwaitReplay(ctx, conn); err != nil {
			return "", err
		}
		err = conn.QueryRow(ctx, "SELECT name FROM users WHERE id = $1", id).Scan(&name)
		return name, err
	}
	_ = load
}
