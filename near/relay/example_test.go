package relay_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/rueidis"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/postgres"
	"github.com/pinwheel-cache/pinwheel/near/postgres/pgtest"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
	"github.com/pinwheel-cache/pinwheel/near/relay"
)

var users = []postgres.Table{{Name: "users", Keys: []string{"user:{id}"}}}

// runRelay is what one process does, or the program cmd/pinwheel-relay.
func runRelay(ctx context.Context, db *pgxpool.Pool, store *redis.Redis) error {
	changes, err := postgres.NewChanges(db, postgres.ChangesOptions{Tables: users})
	if err != nil {
		return err
	}
	lock, err := relay.NewAdvisoryLock(db.Config().ConnString(), "main")
	if err != nil {
		return err
	}
	r, err := relay.New(relay.Options{Source: changes, Redis: store, Lock: lock})
	if err != nil {
		return err
	}
	r.Run(ctx)
	return nil
}

func ExampleOver() {
	database, err := pgtest.Start() // yours run somewhere else
	if err != nil {
		fmt.Println(err)
		return
	}
	defer database.Stop()
	server, err := redistest.Start()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Stop()
	migration := "CREATE TABLE users (id int PRIMARY KEY, name text); INSERT INTO users VALUES (7, 'Ann');" + postgres.SQL(users...)
	if err := database.Exec(migration); err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	db, err := pgxpool.New(ctx, database.URL())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	store, err := redis.New(ctx, redis.Options{
		Client: rueidis.ClientOption{InitAddress: []string{server.Addr}}, Prefixes: []string{"user:"}, Relay: "main",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	relayed := make(chan error)
	go func() { relayed <- runRelay(ctx, db, store) }()

	// Each instance of the service:
	over, err := relay.Over(store)
	if err != nil {
		fmt.Println(err)
		return
	}
	names, err := near.New(over, over, near.Options[int, string]{Prefix: "user:", Expire: time.Hour, MaxLag: time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	load := func(ctx context.Context) (name string, err error) {
		err = db.QueryRow(ctx, "SELECT name FROM users WHERE id = 7").Scan(&name)
		return name, err
	}
	fmt.Println(names.Take(ctx, 7, load))
	if _, err := db.Exec(ctx, "UPDATE users SET name = 'Bob' WHERE id = 7"); err != nil { // by anybody
		fmt.Println(err)
	}
	time.Sleep(time.Second) // MaxLag
	fmt.Println(names.Take(ctx, 7, load))
	names.Close(ctx)
	stop()
	fmt.Println(<-relayed)
	// Ann <nil>
	// Bob <nil>
	// <nil>
}

// TestExample is for ExampleOver, which cannot skip where a server is missing.
//
// Catches: an example that fails.
func TestExample(t *testing.T) {
	server(t)
	s, err := pgtest.Start()
	pgtest.Started(t, s, err)
	if got, want := printed(t, ExampleOver), "Ann <nil>\nBob <nil>\n<nil>\n"; got != want {
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
