package postgres_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/postgres"
	"github.com/pinwheel-cache/pinwheel/near/postgres/pgtest"
)

// shared is a server for all tests that do not harm it. Each has a database of its own.
var shared struct {
	once   sync.Once
	server *pgtest.Server
	err    error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.server != nil {
		shared.server.Stop()
	}
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// sharedServer starts the shared server.
func sharedServer(t testing.TB) *pgtest.Server {
	t.Helper()
	shared.once.Do(func() {
		shared.server, shared.err = pgtest.Start("wal_level=logical", "max_replication_slots=20", "max_wal_senders=20")
	})
	if shared.err != nil {
		pgtest.Started(t, shared.server, shared.err)
	}
	return shared.server
}

// A base is a database of a test, with a connection for its statements.
type base struct {
	url  string
	conn *pgx.Conn
	name string
}

// database makes a database, and runs statements in it.
func database(t testing.TB, statements ...string) *base {
	t.Helper()
	return databaseOf(t, sharedServer(t), statements...)
}

var databases atomic.Int64 // so that -count works

func databaseOf(t testing.TB, s *pgtest.Server, statements ...string) *base {
	t.Helper()
	name := strings.ToLower(strings.NewReplacer("/", "_", " ", "_").Replace(t.Name()))
	name = name[:min(len(name), 50)]
	name = fmt.Sprint(name, databases.Add(1))
	check(t, s.Exec(`CREATE DATABASE "`+name+`"`))
	b := &base{url: strings.Replace(s.URL(), "/postgres?", "/"+name+"?", 1), name: name}
	b.conn = b.connect(t)
	for _, statement := range statements {
		b.exec(t, statement)
	}
	return b
}

// connect returns another connection, for transactions beside the others.
func (b *base) connect(t testing.TB) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), b.url)
	check(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func (b *base) exec(t testing.TB, sql string) {
	t.Helper()
	run(t, b.conn, sql)
}

// finally is exec after the end of the test.
func (b *base) finally(t testing.TB, sql string) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), b.url)
	check(t, err)
	defer conn.Close(context.Background())
	if _, err := conn.Exec(context.Background(), sql); err != nil {
		t.Error(err)
	}
}

func run(t testing.TB, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%.200s: %v", sql, err)
	}
}

// pool returns a pool of the database, with changes to its connection string.
func (b *base) pool(t testing.TB, replacements ...string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), strings.NewReplacer(replacements...).Replace(b.url))
	check(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// changes installs the triggers of tables, and returns a source.
func (b *base) changes(t testing.TB, o postgres.ChangesOptions) *postgres.Changes {
	t.Helper()
	b.exec(t, postgres.SQL(o.Tables...))
	c, err := postgres.NewChanges(b.pool(t), o)
	check(t, err)
	return c
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const lag = 60 * time.Millisecond

// tells checks what f has told: these keys, in any order, and not everything.
func tells(t testing.TB, r *neartest.Recorder, what string, f func(), want ...string) {
	t.Helper()
	r.AwaitNow(t)
	r.Lock()
	r.Keys = nil
	alls := r.Alls
	r.Unlock()
	f()
	r.AwaitNow(t)
	r.Lock()
	defer r.Unlock()
	got := slices.Clone(r.Keys)
	slices.Sort(got)
	slices.Sort(want)
	if got = slices.Compact(got); !slices.Equal(got, want) || r.Alls != alls {
		t.Errorf("%s: told %q and %d times all, want %q", what, got, r.Alls-alls, want)
	}
}

// forgets checks that f has told everything.
func forgets(t testing.TB, r *neartest.Recorder, what string, f func()) {
	t.Helper()
	r.AwaitNow(t)
	r.Lock()
	alls := r.Alls
	r.Unlock()
	f()
	r.AwaitNow(t)
	r.Lock()
	defer r.Unlock()
	if r.Alls == alls {
		t.Errorf("%s: not everything was forgotten", what)
	}
}
