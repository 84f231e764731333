// Package truth proves that what caches serve is never older than MaxLag than a real PostgreSQL, whoever writes it.
package truth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/postgres"
	"github.com/pinwheel-cache/pinwheel/near/postgres/postgrestest"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
	"github.com/pinwheel-cache/pinwheel/near/relay"
	"github.com/redis/rueidis"
)

func TestMain(m *testing.M) { redistest.VerifyTestMain(m) }

const (
	maxLag   = 300 * time.Millisecond
	patience = time.Minute // for what must happen
)

var tables = []postgres.Table{{Name: "rows", Keys: []string{"row:{k}"}}}

// A service is some instances over a database and Redis, each with a relay of its own.
type service struct {
	neartest.Traffic
	t         testing.TB
	database  *postgrestest.Server
	redis     *redistest.Server // nil: there is none
	writer    *pgxpool.Pool
	relays    sync.WaitGroup
	endRelays [3]context.CancelFunc
	changes   [3]*postgres.Changes
	stores    [3]*redis.Redis
	caches    []*near.Cache[int, int]
}

func newService(t testing.TB) *service {
	t.Helper()
	s := newDatabase(t)
	s.redis = redistest.Serve(t)
	for i := range s.changes {
		s.instance(i)
	}
	t.Cleanup(func() {
		for _, end := range s.endRelays {
			end()
		}
		s.relays.Wait()
	})
	return s
}

// newDatabase returns a service without instances.
func newDatabase(t testing.TB) *service {
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

// instance makes an instance, whose loads read the database.
func (s *service) instance(i int) {
	s.t.Helper()
	var err error
	pool := s.connect()
	s.changes[i], err = postgres.NewChanges(pool, postgres.ChangesOptions{Tables: tables})
	settle.Must(s.t, err)
	s.stores[i], err = redis.New(s.t.Context(), redis.Options{
		Client: rueidis.ClientOption{InitAddress: []string{s.redis.Addr}, ConnWriteTimeout: maxLag}, Prefixes: []string{"row:"},
	})
	settle.Must(s.t, err)
	s.t.Cleanup(s.stores[i].Close)
	s.relay(i)
	f := relay.Follow(s.changes[i], s.stores[i], s.stores[i])
	c, err := near.New(f, f, near.Options[int, int]{
		Name: fmt.Sprint("instance ", i), Prefix: "row:", MaxLag: maxLag, Expire: time.Minute, Lease: 200 * time.Millisecond, Timeout: maxLag,
	})
	settle.Must(s.t, err)
	s.t.Cleanup(func() { c.Close(context.Background()) })
	s.caches = append(s.caches, c)
	s.Add(reading{c, pool}, maxLag)
}

// relay runs the relay of an instance.
func (s *service) relay(i int) {
	ctx, cancel := context.WithCancel(context.Background())
	s.endRelays[i] = cancel
	s.relays.Go(func() {
		relay.Run(ctx, s.changes[i], s.stores[i], relay.Options{Every: 20 * time.Millisecond, Timeout: 2 * maxLag})
	})
}

// reading is a cache whose loads read the database.
type reading struct {
	*near.Cache[int, int]
	pool *pgxpool.Pool
}

func (c reading) Take(ctx context.Context, key int, _ func(context.Context) (int, error)) (int, error) {
	return c.Cache.Take(ctx, key, func(ctx context.Context) (value int, err error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience) // or its connection ends with it
		defer cancel()
		err = c.pool.QueryRow(ctx, "SELECT v FROM rows WHERE k = $1", pgx.QueryExecModeExec, key).Scan(&value)
		if errors.Is(err, pgx.ErrNoRows) {
			err = nil
		}
		return value, err
	})
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

// TestRelay has three instances read through Redis what only the database is told, while its connections break, the
// database restarts and crashes, relays die, and Redis loses everything or stops.
//
// Catches: a value that was replaced in the database over MaxLag before.
func TestRelay(t *testing.T) {
	s := newService(t)
	s.Run(t, s.write, func() {
		for _, fault := range s.faults() {
			time.Sleep(4 * maxLag)
			fault()
		}
	})
	s.Verdict(t)
	var there uint64
	for _, c := range s.caches {
		there += c.Stats().Near.RemoteHits
	}
	if there < 100 {
		t.Errorf("only %d values were read from Redis: does a relay work?", there)
	}
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
	if s.redis != nil {
		all = append(all, s.redisFaults()...)
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// redisFaults are those of the relays and of Redis.
func (s *service) redisFaults() []func() {
	return []func(){
		func() {
			i := rand.N(len(s.endRelays))
			s.endRelays[i]()
			time.Sleep(maxLag)
			s.relay(i)
		},
		func() {
			for _, end := range s.endRelays {
				end()
			}
			time.Sleep(2 * maxLag)
			for i := range s.endRelays {
				s.relay(i)
			}
		},
		func() { redistest.Do(s.t, s.redis, "FLUSHALL") },
		func() {
			settle.Must(s.t, s.redis.Pause())
			time.Sleep(2 * maxLag)
			settle.Must(s.t, s.redis.Resume())
		},
		func() {
			s.redis.Kill()
			settle.Must(s.t, s.redis.Restart())
		},
	}
}
