package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/postgres"
	"github.com/pinwheel-cache/pinwheel/near/postgres/pgtest"
)

// found runs a fleet until the oracle finds a stale answer, for half a minute at most.
func found(t *testing.T, f *neartest.Fleet, fault func()) {
	t.Helper()
	f.Run(t, func() {
		for end := time.Now().Add(30 * time.Second); f.Stale() == 0 && time.Now().Before(end); {
			fault()
			time.Sleep(maxLag)
		}
	})
	t.Log(f)
	if f.Stale() == 0 {
		t.Error("the oracle finds nothing")
	}
}

// byID is a source that reads the table of changes in the order of transactions, from the last one
// that it has seen.
type byID struct{ db *pgxpool.Pool }

func (s byID) Watch(ctx context.Context, w near.Watcher) {
	var last uint64
	poll := func() error {
		rows, err := s.db.Query(ctx, "SELECT xid::text::bigint, key FROM pinwheel.changes, unnest(keys) AS key WHERE xid::text::bigint > $1 ORDER BY xid", last)
		if err != nil {
			return err
		}
		var key string
		_, err = pgx.ForEachRow(rows, []any{&last, &key}, func() error {
			w.Changed(key)
			return nil
		})
		return err
	}
	for first := true; ctx.Err() == nil; time.Sleep(maxLag / 3) {
		asked := time.Now()
		if poll() != nil {
			continue
		}
		if first {
			w.ChangedAll()
			first = false
		}
		w.Current(asked)
	}
}

// Catches: an oracle that does not see that transactions which commit late are lost.
func TestOracleSeesCursorByID(t *testing.T) {
	t.Parallel()
	s := server(t)
	tr := newTruth(t, s)
	f := neartest.NewFleet(tr, maxLag)
	f.JoinLocal(t, prefix, byID{tr.DB})
	found(t, f, func() {})
}

// listener is a source that is notified of changes, and goes on after a break as if there had
// been none.
type listener struct{ url string }

func (s listener) Watch(ctx context.Context, w near.Watcher) {
	w.ChangedAll()
	for ; ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		_ = s.hear(ctx, w) // and again
	}
}

func (s listener) hear(ctx context.Context, w near.Watcher) error {
	conn, err := pgx.Connect(ctx, s.url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "LISTEN naive"); err != nil {
		return err
	}
	for ctx.Err() == nil {
		asked := time.Now()
		if _, err := conn.Exec(ctx, "SELECT 1"); err != nil {
			return err
		}
		w.Current(asked)
		until, cancel := context.WithTimeout(ctx, maxLag/3)
		for until.Err() == nil {
			// A conn of pgx survives the end of this context.
			if n, err := conn.WaitForNotification(until); err == nil {
				w.Changed(prefix + n.Payload)
			} else if until.Err() == nil {
				cancel()
				return err
			}
		}
		cancel()
	}
	return nil
}

// Catches: an oracle that does not see what was notified during a break.
func TestOracleSeesListenWithoutForgetting(t *testing.T) {
	t.Parallel()
	s := server(t)
	check(t, s.Exec(`CREATE FUNCTION naive() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_notify('naive', NEW.id::text); RETURN NULL; END $$;
		CREATE TRIGGER naive AFTER UPDATE OR INSERT ON rows FOR EACH ROW EXECUTE FUNCTION naive()`))
	f := neartest.NewFleet(newTruth(t, s), maxLag)
	f.JoinLocal(t, prefix, listener{s.URL()})
	found(t, f, func() { check(t, s.Exec(killAll)) })
}

// ungated is a source that tells what is in the log as soon as it is there.
type ungated struct{ url string }

func (s ungated) Watch(ctx context.Context, w near.Watcher) {
	w.ChangedAll()
	for ctx.Err() == nil {
		_ = s.read(ctx, w) // and again
	}
}

func (s ungated) read(ctx context.Context, w near.Watcher) error {
	conn, err := pgx.Connect(ctx, s.url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "SELECT pg_create_logical_replication_slot('ungated', 'test_decoding', true)"); err != nil {
		return err
	}
	w.ChangedAll()
	for ctx.Err() == nil {
		asked := time.Now()
		rows, err := conn.Query(ctx, `SELECT substring(data FROM 'id\[integer\]:(\d+)') FROM pg_logical_slot_get_changes('ungated', NULL, NULL) WHERE data LIKE 'table public.rows:%'`)
		if err != nil {
			return err
		}
		var row string
		if _, err := pgx.ForEachRow(rows, []any{&row}, func() error {
			w.Changed(prefix + row)
			return nil
		}); err != nil {
			return err
		}
		w.Current(asked)
	}
	return nil
}

// Catches: an oracle that does not see what is told before it can be read, and kept as it was.
func TestOracleSeesStreamWithoutGate(t *testing.T) {
	t.Parallel()
	s := server(t)
	tr := newTruth(t, s)
	tr.Open = maxLag // a slot waits for transactions that are open
	f := neartest.NewFleet(tr, maxLag)
	f.JoinLocal(t, prefix, ungated{s.URL()})
	found(t, f, func() { logFaults["commits wait for a standby"](t, s) })
}

// Catches: an oracle that does not see loads which read what is older than what was told.
func TestOracleSeesLaggingStandby(t *testing.T) {
	t.Parallel()
	s := server(t)
	slow, err := s.Standby("recovery_min_apply_delay=100ms")
	pgtest.Started(t, slow, err)
	tr, standby := newTruth(t, s), pool(t, slow.URL())
	tr.Readers = func(ctx context.Context, row int) (int, error) { return tr.Version(ctx, standby, row) }
	found(t, newFleet(t, tr, s.URL()), func() {})
}

// Catches: an oracle that finds nothing when changes are lost, or vouched for too early.
func TestOracleSeesLiars(t *testing.T) {
	t.Parallel()
	s := server(t)
	for name, lie := range map[string]func(near.Source) near.Source{
		"drop":  func(source near.Source) near.Source { return neartest.Drop(source, 0.15) },
		"ahead": func(source near.Source) near.Source { return neartest.Ahead(source, 3*maxLag) },
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTruth(t, s)
			c, err := postgres.NewChanges(tr.DB, postgres.ChangesOptions{Tables: []postgres.Table{rowsTable}})
			check(t, err)
			check(t, s.Exec("UPDATE rows SET version = 0"))
			f := neartest.NewFleet(tr, maxLag)
			f.JoinLocal(t, prefix, lie(c))
			found(t, f, func() {})
		})
	}
}
