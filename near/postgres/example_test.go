package postgres_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/postgres"
	"github.com/pinwheel-cache/pinwheel/near/postgres/pgtest"
)

// Names of users in memory, which are at most a second older than the database.
func ExampleNewChanges() {
	server, err := pgtest.Start() // yours runs somewhere else
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Stop()
	ctx := context.Background()
	db, err := pgxpool.New(ctx, server.URL())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	users := postgres.Table{Name: "users", Keys: []string{"user:{id}"}}
	migration := "CREATE TABLE users (id int PRIMARY KEY, name text); INSERT INTO users VALUES (7, 'Ann');" + postgres.SQL(users)
	if _, err := db.Exec(ctx, migration); err != nil {
		fmt.Println(err)
		return
	}

	changes, err := postgres.NewChanges(db, postgres.ChangesOptions{Tables: []postgres.Table{users}})
	if err != nil {
		fmt.Println(err)
		return
	}
	names, err := near.NewLocal(changes, near.LocalOptions[int, string]{
		Cache: cache.Options[int, string]{Limit: 10_000}, Prefix: "user:", MaxLag: time.Second,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer names.Close(ctx)

	// db is the primary. Before a load reads a standby, it calls changes.Replayed.
	load := func(ctx context.Context, _ *cache.Load[string]) (name string, err error) {
		err = db.QueryRow(ctx, "SELECT name FROM users WHERE id = 7").Scan(&name)
		return name, err
	}
	fmt.Println(names.Take(ctx, 7, load))
	if _, err := db.Exec(ctx, "UPDATE users SET name = 'Bob' WHERE id = 7"); err != nil { // by anybody
		fmt.Println(err)
	}
	time.Sleep(time.Second) // MaxLag
	fmt.Println(names.Take(ctx, 7, load))
	// Ann <nil>
	// Bob <nil>
}

// TestExampleNewChanges is for ExampleNewChanges, which cannot skip where there is no PostgreSQL.
//
// Catches: an example that fails.
func TestExampleNewChanges(t *testing.T) {
	sharedServer(t)
	if got, want := printed(t, ExampleNewChanges), "Ann <nil>\nBob <nil>\n"; got != want {
		t.Errorf("the example prints %q, want %q", got, want)
	}
}

// printed returns what f writes to the standard output.
func printed(t testing.TB, f func()) string {
	t.Helper()
	r, w, err := os.Pipe()
	check(t, err)
	defer r.Close()
	stdout := os.Stdout
	os.Stdout = w
	defer func() { os.Stdout = stdout }()
	f()
	w.Close()
	text, err := io.ReadAll(r)
	check(t, err)
	return string(text)
}

// A service with few instances hears of changes from the log.
func ExampleNewLog() {
	server, err := pgtest.Start("wal_level=logical") // yours runs somewhere else
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Stop()
	options := postgres.LogOptions{Tables: []postgres.Table{{Name: "users", Keys: []string{"user:{id}"}}}}
	migration := "CREATE TABLE users (id int PRIMARY KEY, name text);" + postgres.LogSQL(options)
	if err := server.Exec(migration); err != nil {
		fmt.Println(err)
		return
	}

	log, err := postgres.NewLog(server.URL(), options)
	if err != nil {
		fmt.Println(err)
		return
	}
	names, err := near.NewLocal(log, near.LocalOptions[int, string]{
		Cache: cache.Options[int, string]{Limit: 10_000}, Prefix: "user:", MaxLag: time.Second,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer names.Close(context.Background())
	fmt.Println(log.Covers("user:7"), log.Covers("order:7"))
	// true false
}

// Catches: an example that fails.
func TestExampleNewLog(t *testing.T) {
	sharedServer(t)
	if got, want := printed(t, ExampleNewLog), "true false\n"; got != want {
		t.Errorf("the example prints %q, want %q", got, want)
	}
}
