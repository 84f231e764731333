package mysql_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"go.uber.org/goleak"

	"github.com/pinwheel-cache/pinwheel/near/mysql"
	"github.com/pinwheel-cache/pinwheel/near/mysql/mysqltest"
	"github.com/pinwheel-cache/pinwheel/near/neartest"
)

// shared is a server for all tests that do not harm it. Each has a schema of its own.
var shared struct {
	once   sync.Once
	server *mysqltest.Server
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

func sharedServer(t testing.TB) *mysqltest.Server {
	t.Helper()
	shared.once.Do(func() { shared.server, shared.err = mysqltest.Start() })
	if shared.err != nil {
		mysqltest.Started(t, shared.server, shared.err)
	}
	return shared.server
}

// A base is a schema of a test, with a connection for its statements.
type base struct {
	server *mysqltest.Server
	dsn    string
	conn   *sql.Conn
	name   string
}

var schemas atomic.Int64 // so that -count works

// schema makes a schema, and runs statements in it.
func schema(t testing.TB, statements ...string) *base {
	t.Helper()
	return schemaOf(t, sharedServer(t), statements...)
}

func schemaOf(t testing.TB, s *mysqltest.Server, statements ...string) *base {
	t.Helper()
	b := &base{server: s, name: fmt.Sprint("schema", schemas.Add(1))}
	check(t, s.Exec("CREATE DATABASE "+b.name))
	b.dsn = strings.Replace(s.DSN(), "/test?", "/"+b.name+"?", 1)
	b.conn = b.connect(t)
	for _, statement := range statements {
		b.exec(t, statement)
	}
	return b
}

// connect returns another connection, for transactions beside the others.
func (b *base) connect(t testing.TB) *sql.Conn {
	t.Helper()
	db, err := sql.Open("mysql", b.dsn)
	check(t, err)
	conn, err := db.Conn(t.Context())
	check(t, err)
	t.Cleanup(func() { conn.Close(); db.Close() })
	return conn
}

func (b *base) exec(t testing.TB, statements string) {
	t.Helper()
	if _, err := b.conn.ExecContext(context.WithoutCancel(t.Context()), statements); err != nil {
		t.Fatalf("%.200s: %v", statements, err)
	}
}

// log returns a source.
func (b *base) log(t testing.TB, o mysql.LogOptions) *mysql.Log {
	t.Helper()
	l, err := mysql.NewLog(b.dsn, o)
	check(t, err)
	return l
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
