// Package truth proves that what caches serve is never older than MaxLag than a real PostgreSQL, whoever writes it.
package truth

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
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

var rounds = flag.Int("truth.rounds", 1, "have each fault this many times")

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
	bouncer   *postgrestest.Server // nil: there is none
	urls      []string             // by which instances reach the database, by turns
	redis     *redistest.Server    // nil: there is none
	writer    *pgxpool.Pool
	writes    atomic.Int64
	relays    sync.WaitGroup
	endRelays [3]context.CancelFunc
	changes   [3]*postgres.Changes
	stores    [3]*redis.Redis
	caches    []neartest.Cache
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
	s.urls = []string{s.database.URL}
	s.writer = s.connect(0)
	_, err = s.writer.Exec(t.Context(), "CREATE TABLE rows (k int PRIMARY KEY, v int)")
	settle.Must(t, err)
	_, err = s.writer.Exec(t.Context(), postgres.SQL(tables...))
	settle.Must(t, err)
	return s
}

// connect connects an instance to the database.
func (s *service) connect(i int) *pgxpool.Pool {
	s.t.Helper()
	config, err := pgxpool.ParseConfig(s.urls[i%len(s.urls)])
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
	pool := s.connect(i)
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
	s.add(reading{c, pool})
}

func (s *service) add(c neartest.Cache) {
	s.caches = append(s.caches, c)
	s.Add(c, maxLag)
}

// suffer has one fault after another. Each time it waits until all instances serve from memory again, and from Redis.
func (s *service) suffer(faults ...func()) {
	for _, fault := range faults {
		fault()
		time.Sleep(2 * maxLag) // what was confirmed before is over
		for _, c := range s.caches {
			before, began := c.Stats(), time.Now()
			for now := before; now.Hits == before.Hits || s.redis != nil && now.Near.RemoteHits == before.Near.RemoteHits; now = c.Stats() {
				if time.Since(began) > patience {
					s.t.Error("an instance does not work again after a fault")
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
		}
	}
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
	return c.Cache.Take(ctx, key, func(ctx context.Context) (int, error) { return load(ctx, c.pool, key, nil) })
}

// load reads a row, over a connection that is ready; nil: each is.
func load(ctx context.Context, pool *pgxpool.Pool, key int, ready func(context.Context, *pgxpool.Conn) error) (value int, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience) // or its connection ends with it
	defer cancel()
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Release()
	if ready != nil {
		if err := ready(ctx, conn); err != nil {
			return 0, err
		}
	}
	err = conn.QueryRow(ctx, "SELECT coalesce((SELECT v FROM rows WHERE k = $1), 0)", pgx.QueryExecModeExec, key).Scan(&value)
	return value, err
}

// write is a removal that only writes the database, in one of several ways. The oracle counts from when it returns, so
// what it waits for makes no difference.
func (s *service) write(ctx context.Context, _, key int) error {
	switch {
	case s.writes.Add(1)%300 == 0:
		return s.writeAll(ctx, key)
	case rand.N(10) > 0:
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
	name := "'" + strconv.Itoa(key) + "'"
	how := "COMMIT"
	if _, err = tx.Exec(ctx, "PREPARE TRANSACTION "+name); err != nil {
		how = "ROLLBACK"
	}
	for time.Sleep(rand.N(50 * time.Millisecond)); ; time.Sleep(10 * time.Millisecond) { // until it is known what it did
		_, failed := s.writer.Exec(context.WithoutCancel(ctx), how+" PREPARED "+name)
		var of *pgconn.PgError
		if failed == nil || errors.As(failed, &of) && of.Code == noSuchPrepared {
			return cmp.Or(err, failed)
		}
	}
}

const noSuchPrepared = "42704" // or no more

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

// writeAll empties the table and fills it again, with one row changed, of which only the TRUNCATE tells.
func (s *service) writeAll(ctx context.Context, key int) error {
	return pgx.BeginFunc(ctx, s.writer, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, fmt.Sprintf(`LOCK TABLE rows; CREATE TEMP TABLE others ON COMMIT DROP AS SELECT * FROM rows WHERE k <> %d;
			TRUNCATE rows; ALTER TABLE rows DISABLE TRIGGER pinwheel_changed; INSERT INTO rows VALUES (%[1]d, %[2]d); INSERT INTO rows SELECT * FROM others;
			ALTER TABLE rows ENABLE ALWAYS TRIGGER pinwheel_changed`, key, s.Oracle.Newest(key)), pgx.QueryExecModeSimpleProtocol)
		return err
	})
}

// TestRelay has three instances read through Redis what only the database is told, while its connections break, the
// database restarts and crashes, relays die, and Redis loses everything or stops.
//
// Catches: a value that was replaced in the database over MaxLag before; an instance that serves none after a fault.
func TestRelay(t *testing.T) {
	s := newService(t)
	s.Run(t, s.write, func() { s.suffer(s.faults()...) })
	s.Verdict(t)
}

// administer runs statements over a connection of its own.
func (s *service) administer(statements ...string) {
	conn, err := pgx.Connect(context.Background(), s.database.URL)
	settle.Must(s.t, err)
	defer conn.Close(context.Background())
	for _, statement := range statements {
		_, err = conn.Exec(context.Background(), statement)
		settle.Must(s.t, err)
	}
}

// commitsWait has commits wait for a standby, or no more.
func (s *service) commitsWait(wait bool) {
	names := map[bool]string{true: "'*'", false: "''"}[wait]
	s.administer("ALTER SYSTEM SET synchronous_standby_names = "+names, "SELECT pg_reload_conf()")
}

// faults returns each fault, -truth.rounds times, in any order.
func (s *service) faults() []func() {
	all := []func(){
		func() {
			s.administer("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'")
		},
		func() {
			s.commitsWait(true)
			time.Sleep(2 * maxLag)
			s.commitsWait(false)
		},
		func() { s.restart(s.database.Kill, s.database) },
		func() { s.restart(s.database.Shutdown, s.database) },
		func() { settle.Must(s.t, s.database.CrashProcess()) },
	}
	if s.bouncer != nil {
		all = append(all, func() { s.restart(s.bouncer.Kill, s.bouncer) })
	}
	if s.redis != nil {
		all = append(all, s.redisFaults()...)
	}
	all = slices.Repeat(all, *rounds)
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// redisFaults are those of the relays and of Redis.
func (s *service) redisFaults() []func() {
	return []func(){
		func() { s.restartRelays(rand.N(len(s.endRelays))) },
		func() { s.restartRelays(0, 1, 2) },
		func() { redistest.Do(s.t, s.redis, "FLUSHALL") },
		func() {
			settle.Must(s.t, s.redis.Pause())
			time.Sleep(2 * maxLag)
			settle.Must(s.t, s.redis.Resume())
		},
		func() { s.restart(s.redis.Kill, s.redis) },
		func() { // it has what it had a while before
			redistest.Do(s.t, s.redis, "SAVE")
			time.Sleep(rand.N(4 * maxLag))
			s.restart(s.redis.Kill, s.redis)
		},
	}
}

// restart ends a server, and runs it again.
func (s *service) restart(end func(), server interface{ Restart() error }) {
	end()
	settle.Must(s.t, server.Restart())
}

// restartRelays ends relays, and runs them again.
func (s *service) restartRelays(all ...int) {
	for _, i := range all {
		s.endRelays[i]()
	}
	time.Sleep(2 * maxLag)
	for _, i := range all {
		s.relay(i)
	}
}
