package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/postgres"
	"github.com/pinwheel-cache/pinwheel/near/postgres/postgrestest"
)

// shared is a server for all tests that do it no harm. Each has a database of its own there.
var shared struct {
	sync.Once
	*postgrestest.Server
	err       error
	databases atomic.Int32
}

func TestMain(m *testing.M) { settle.VerifyTestMain(stopping{m}) }

// A stopping stops the server after the tests.
type stopping struct{ *testing.M }

func (m stopping) Run() int {
	defer func() {
		if shared.Server != nil {
			shared.Stop()
		}
	}()
	return m.M.Run()
}

const (
	lag      = 300 * time.Millisecond
	patience = time.Minute // for what must happen
)

var check = settle.Must // ends a test with an error that it did not expect

// database returns the URL of an empty database.
func database(t testing.TB) (url string) {
	t.Helper()
	shared.Do(func() { shared.Server, shared.err = postgrestest.Start("max_prepared_transactions=10", "ssl=on") })
	if shared.err != nil {
		postgrestest.Started(t, nil, shared.err)
	}
	name := fmt.Sprint("test", shared.databases.Add(1))
	pool := connect(t, shared.URL)
	run(t, pool, "CREATE DATABASE "+name)
	pool.Close()
	return strings.Replace(shared.URL, "/postgres?", "/"+name+"?", 1)
}

func connect(t testing.TB, url string) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(url)
	check(t, err)
	config.MaxConns = 20
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	check(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// run runs statements, each in a transaction of its own.
func run(t testing.TB, pool *pgxpool.Pool, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := pool.Exec(context.Background(), statement); err != nil {
			t.Fatalf("%.200s: %v", statement, err)
		}
	}
}

// watching returns a source of tables, and who watches it.
func watching(t testing.TB, pool *pgxpool.Pool, o postgres.ChangesOptions) (*postgres.Changes, *neartest.Recorder) {
	t.Helper()
	c, err := postgres.NewChanges(pool, o)
	check(t, err)
	return c, neartest.Record(t, c, lag)
}
