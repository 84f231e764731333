// Package truth proves that what caches serve is never older than MaxLag than a real PostgreSQL, whoever writes it.
package truth

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/postgres"
	"github.com/pinwheel-cache/pinwheel/near/postgres/postgrestest"
)

func TestMain(m *testing.M) { settle.VerifyTestMain(m) }

const (
	maxLag   = 300 * time.Millisecond
	patience = time.Minute // for what must happen
)

var tables = []postgres.Table{{Name: "rows", Keys: []string{"row:{k}"}}}

// A service is some instances over a database.
type service struct {
	neartest.Traffic
	t        testing.TB
	database *postgrestest.Server
	writer   *pgxpool.Pool
}

// newService returns a service without instances.
func newService(t testing.TB) *service {
	t.Helper()
	d, err := postgrestest.Start("max_prepared_transactions=10")
	s := &service{t: t, database: postgrestest.Started(t, d, err)}
	s.writer = s.connect()
	_, err = s.writer.Exec(t.Context(), "CREATE TABLE rows (k int PRIMARY KEY, v int)")
	settle.Must(t, err)
	_, err = s.writer.Exec(t.Context(), postgres.SQL(tables...))
	settle.Must(t, err)
	return s
}

func (s *service) connect() *pgxpool.Pool {
	s.t.Helper()
	config, err := pgxpool.ParseConfig(s.database.URL)
	settle.Must(s.t, err)
	config.MaxConns = 20
	pool, err := pgxpool.NewWithConfig(s.t.Context(), config)
	settle.Must(s.t, err)
	s.t.Cleanup(pool.Close)
	return pool
}

// write is a removal that only writes the database, in one of several ways. The oracle counts from when it returns, so
// what it waits for makes no difference.
func (s *service) write(ctx context.Context, _, key int) error {
	if rand.N(10) > 0 {
		return s.plainWrite(ctx, 0, key)
	}
	tx, err := s.writer.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	if _, err = tx.Exec(ctx, upsert, key, s.Oracle.Newest(key)); err != nil {
		return err
	}
	time.Sleep(rand.N(100 * time.Millisecond)) // others commit meanwhile
	if rand.N(2) == 0 {
		return tx.Commit(ctx)
	}
	name := "'" + strconv.Itoa(key) + "'"
	how := "COMMIT"
	if _, err = tx.Exec(ctx, "PREPARE TRANSACTION "+name); err != nil {
		how = "ROLLBACK"
	}
	for time.Sleep(rand.N(50 * time.Millisecond)); ; time.Sleep(10 * time.Millisecond) { // until it is known what it did
		_, failed := s.writer.Exec(context.WithoutCancel(ctx), how+" PREPARED "+name)
		var of *pgconn.PgError
		if failed == nil || errors.As(failed, &of) && of.Code == pgerrNone {
			return cmp.Or(err, failed)
		}
	}
}

const pgerrNone = "42704" // there is no such transaction, or no more

const upsert = "INSERT INTO rows VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v"

// plainWrite writes in a transaction that is open for a while, now and then.
func (s *service) plainWrite(ctx context.Context, _, key int) error {
	if rand.N(20) > 0 {
		_, err := s.writer.Exec(ctx, upsert, key, s.Oracle.Newest(key))
		return err
	}
	return pgx.BeginFunc(ctx, s.writer, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, upsert, key, s.Oracle.Newest(key))
		time.Sleep(rand.N(100 * time.Millisecond))
		return err
	})
}

// faults returns each fault once, in any order.
func (s *service) faults() []func() {
	ctx := context.Background()
	all := []func(){
		func() {
			_, _ = s.writer.Exec(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'")
		},
		func() {
			s.database.Crash()
			settle.Must(s.t, s.database.Restart())
		},
		func() {
			s.database.Shutdown()
			settle.Must(s.t, s.database.Restart())
		},
		func() { settle.Must(s.t, s.database.CrashProcess()) },
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}
