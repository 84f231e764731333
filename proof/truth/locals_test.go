package truth

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/internal/settle"
	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/postgres"
	"github.com/pinwheel-cache/pinwheel/near/postgres/postgrestest"
)

// A local is a near.Local whose loads read the database.
type local struct {
	*near.Local[int, int]
	pool  *pgxpool.Pool
	ready func(ctx context.Context, conn *pgxpool.Conn) error
}

func (c local) Take(ctx context.Context, key int, _ func(context.Context) (int, error)) (int, error) {
	return c.Local.Take(ctx, key, func(ctx context.Context, _ *cache.Load[int]) (int, error) { return load(ctx, c.pool, key, c.ready) })
}

func (c local) Del(_ context.Context, keys ...int) error {
	c.Forget(keys...)
	return nil
}

// addLocals adds three instances without Redis.
func (s *service) addLocals(source func(pool *pgxpool.Pool) near.Source, loads *pgxpool.Pool, ready func(context.Context, *pgxpool.Conn) error) {
	s.t.Helper()
	for i := range 3 {
		pool := s.connect(i)
		c, err := near.NewLocal[int, int](source(pool), near.LocalOptions[int, int]{
			Cache: cache.Options[int, int]{Name: fmt.Sprint("local ", i)}, Prefix: "row:", MaxLag: maxLag,
		})
		settle.Must(s.t, err)
		s.t.Cleanup(func() { c.Close(context.Background()) })
		one := local{c, pool, ready}
		if loads != nil {
			one.pool = loads
		}
		s.add(one)
	}
}

// changesOf is the source that is right.
func changesOf(t testing.TB) func(pool *pgxpool.Pool) near.Source {
	return func(pool *pgxpool.Pool) near.Source {
		c, err := postgres.NewChanges(pool, postgres.ChangesOptions{Tables: tables})
		settle.Must(t, err)
		return c
	}
}

// TestLocals has three instances without Redis, two of which read through pgbouncer, and the same faults.
//
// Catches: a value that was replaced in the database over MaxLag before.
func TestLocals(t *testing.T) {
	s := newDatabase(t)
	b, err := s.database.Bouncer()
	s.bouncer = postgrestest.Started(t, b, err)
	s.urls = []string{s.database.URL, s.bouncer.URL, s.bouncer.URL}
	s.addLocals(changesOf(t), nil, nil)
	s.Run(t, s.write, func() { s.suffer(s.faults()...) })
	s.Verdict(t)
}

// TestPromotion has the primary die, and a standby take its place, for which commits have waited.
//
// Catches: a change that is lost between two servers.
func TestPromotion(t *testing.T) {
	for i := range *rounds {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			s := newDatabase(t)
			b, err := s.database.Standby("max_prepared_transactions=10")
			standby := postgrestest.Started(t, b, err)
			s.commitsWait(true)
			first, err := url.Parse(s.database.URL)
			settle.Must(t, err)
			second, err := url.Parse(standby.URL)
			settle.Must(t, err)
			first.Host += "," + second.Host
			s.urls = []string{first.String() + "&target_session_attrs=read-write"}
			s.writer = s.connect(0)
			s.addLocals(changesOf(t), nil, nil)
			s.Run(t, s.write, func() {
				s.suffer(func() {}, func() {
					s.database.Kill()
					time.Sleep(rand.N(2 * maxLag))
					s.database = standby
					s.administer("SELECT pg_promote()")
				})
			})
			s.Verdict(t)
		})
	}
}

// TestStandby has loads read a standby that is 200 ms behind, which wait until it shows what was told; and some that do
// not, whose caches must be found out.
func TestStandby(t *testing.T) {
	for _, waits := range []bool{true, false} {
		s := newDatabase(t)
		b, err := s.database.Standby("recovery_min_apply_delay=200ms", "max_prepared_transactions=10")
		standby := postgrestest.Started(t, b, err)
		loads, err := pgxpool.New(t.Context(), standby.URL+"&pool_max_conns=20")
		settle.Must(t, err)
		t.Cleanup(loads.Close)
		c := changesOf(t)(s.connect(0)).(*postgres.Changes)
		var ready func(context.Context, *pgxpool.Conn) error
		if waits {
			ready = func(ctx context.Context, conn *pgxpool.Conn) error { return c.AwaitReplay(ctx, conn) }
		}
		s.addLocals(func(*pgxpool.Pool) near.Source { return c }, loads, ready)
		seldom := func(ctx context.Context, instance, key int) error { // or each load finds the row changed
			time.Sleep(30 * time.Millisecond)
			return s.write(ctx, instance, key)
		}
		s.Run(t, seldom, func() {
			if !waits && s.UntilWrong() == 0 {
				t.Error("loads that read a standby as it is are not found out")
			}
		})
		if waits {
			s.Verdict(t)
		}
	}
}

// naive is a source with a connection of its own, over which it asks again and again.
type naive struct {
	url string
	ask func(ctx context.Context, conn *pgx.Conn, w near.Watcher) error // tells what has changed
}

func (n naive) Watch(ctx context.Context, w near.Watcher) {
	for told := false; ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		conn, err := pgx.Connect(ctx, n.url)
		if err != nil {
			continue
		}
		if _, err := conn.Exec(ctx, "LISTEN naive"); err == nil && !told {
			w.ChangedAll()
			told = true // which is the fault of some: they have missed what came while they were away
		}
		for err == nil && ctx.Err() == nil {
			asOf := time.Now()
			if err = n.ask(ctx, conn, w); err == nil {
				w.Current(asOf)
			}
		}
		conn.Close(context.Background())
	}
}

// TestNaive checks that what others have built does not pass: a table of changes that is read by number, which loses what
// commits late; notifications without forgetting what came while the connection was broken.
func TestNaive(t *testing.T) {
	for name, ask := range map[string]func() func(context.Context, *pgx.Conn, near.Watcher) error{
		"by number": func() func(context.Context, *pgx.Conn, near.Watcher) error {
			last := 0
			return func(ctx context.Context, conn *pgx.Conn, w near.Watcher) error {
				rows, err := conn.Query(ctx, "SELECT id, key FROM log WHERE id > $1 ORDER BY id", last)
				if err != nil {
					return err
				}
				var key string
				_, err = pgx.ForEachRow(rows, []any{&last, &key}, func() error { w.Changed(key); return nil })
				time.Sleep(20 * time.Millisecond)
				return err
			}
		},
		"notifications": func() func(context.Context, *pgx.Conn, near.Watcher) error {
			return func(ctx context.Context, conn *pgx.Conn, w near.Watcher) error {
				if _, err := conn.Exec(ctx, "SELECT 1"); err != nil { // what was sent before it comes before its answer
					return err
				}
				for {
					within, cancel := context.WithCancel(ctx)
					cancel() // only what is here already
					n, err := conn.WaitForNotification(within)
					if err != nil {
						break
					}
					w.Changed(n.Payload)
				}
				time.Sleep(20 * time.Millisecond)
				return ctx.Err()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newDatabase(t)
			_, err := s.writer.Exec(t.Context(), `CREATE TABLE log (id serial PRIMARY KEY, key text);
				CREATE FUNCTION told() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
					INSERT INTO log (key) VALUES ('row:' || NEW.k); PERFORM pg_notify('naive', 'row:' || NEW.k); RETURN NULL; END $$;
				CREATE TRIGGER told AFTER INSERT OR UPDATE ON rows FOR EACH ROW EXECUTE FUNCTION told()`)
			settle.Must(t, err)
			s.addLocals(func(*pgxpool.Pool) near.Source { return naive{s.database.URL, ask()} }, nil, nil)
			ctx, stop := context.WithCancel(t.Context())
			s.Run(t, s.plainWrite, func() {
				go func() {
					for ctx.Err() == nil {
						time.Sleep(maxLag)
						_, _ = s.writer.Exec(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'SELECT 1'")
					}
				}()
				if s.UntilWrong() == 0 {
					t.Error("it is not found out")
				}
				stop()
			})
		})
	}
}
