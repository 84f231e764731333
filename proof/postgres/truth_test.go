// Package postgres has caches over the sources of a PostgreSQL that fails, and designs that look
// as good and are not.
package postgres_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/pinwheel-cache/pinwheel/near/postgres"
	"github.com/pinwheel-cache/pinwheel/near/postgres/pgtest"
	"github.com/pinwheel-cache/pinwheel/proof/internal/truth"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	maxLag    = 300 * time.Millisecond
	instances = 3
	prefix    = truth.Prefix
)

var rowsTable = truth.PostgresKeys("rows")

// server starts a server with rows and their triggers.
func server(t testing.TB, settings ...string) *pgtest.Server {
	t.Helper()
	s, err := pgtest.Start(append(settings, "wal_level=logical")...)
	pgtest.Started(t, s, err)
	check(t, s.Exec(truth.PostgresSQL("rows")+postgres.SQL(rowsTable)))
	return s
}

func pool(t testing.TB, url string) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(url)
	check(t, err)
	config.MaxConns = 12
	config.ConnConfig.ConnectTimeout = time.Second
	db, err := pgxpool.NewWithConfig(t.Context(), config)
	check(t, err)
	t.Cleanup(db.Close)
	return db
}

func newTruth(t testing.TB, s *pgtest.Server) *truth.Postgres {
	return truth.NewPostgres(pool(t, s.URL()), "rows")
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
