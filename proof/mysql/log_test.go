// Package mysql has caches over the binary log of a MariaDB that fails, and a design that looks as
// good and is not.
package mysql_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/mysql"
	"github.com/pinwheel-cache/pinwheel/near/mysql/mysqltest"
	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/proof/internal/truth"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	maxLag    = 300 * time.Millisecond
	instances = 3
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// server starts a server with rows.
func server(t testing.TB) (*mysqltest.Server, *truth.MySQL) {
	t.Helper()
	s, err := mysqltest.Start()
	mysqltest.Started(t, s, err)
	tr, err := truth.NewMySQL(t.Context(), s.DSN(), "rows_of_test")
	check(t, err)
	t.Cleanup(func() { tr.DB.Close() })
	return s, tr
}

// newFleet has three instances read the log of a server at an address.
func newFleet(t testing.TB, tr *truth.MySQL, dsn string) *neartest.Fleet {
	t.Helper()
	f := neartest.NewFleet(tr, maxLag)
	for range instances {
		l, err := mysql.NewLog(dsn, mysql.LogOptions{Tables: []mysql.Table{tr.Keys()}})
		check(t, err)
		f.JoinLocal(t, truth.Prefix, l)
	}
	return f
}

const killAll = "BEGIN NOT ATOMIC DECLARE CONTINUE HANDLER FOR 1094 BEGIN END; FOR c IN (SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID()) DO KILL c.id; END FOR; END"

// serverFaults are faults of a server, by name.
var serverFaults = map[string]func(t testing.TB, s *mysqltest.Server){
	"connections killed": func(t testing.TB, s *mysqltest.Server) { check(t, s.Exec(killAll)) },
	"streams killed": func(t testing.TB, s *mysqltest.Server) {
		check(t, s.Exec(strings.Replace(killAll, "id <> CONNECTION_ID()", "command = 'Binlog Dump'", 1)))
	},
	"restart": func(t testing.TB, s *mysqltest.Server) { check(t, s.Shutdown()); check(t, s.Restart()) },
	"crash":   func(t testing.TB, s *mysqltest.Server) { s.Crash(); check(t, s.Restart()) },
	"stop": func(t testing.TB, s *mysqltest.Server) {
		resume, err := s.Pause()
		check(t, err)
		time.Sleep(rand.N(3 * maxLag))
		check(t, resume())
	},
	"commits wait for a replica": func(t testing.TB, s *mysqltest.Server) {
		check(t, s.HoldCommits())
		time.Sleep(rand.N(2 * maxLag))
		check(t, s.ReleaseCommits())
	},
	"another file": func(t testing.TB, s *mysqltest.Server) {
		check(t, s.Exec("FLUSH BINARY LOGS; PURGE BINARY LOGS BEFORE NOW()"))
	},
	"the log begins anew": func(t testing.TB, s *mysqltest.Server) { check(t, s.Exec("RESET MASTER")) },
	"altered table": func(t testing.TB, s *mysqltest.Server) {
		check(t, s.Exec("SET lock_wait_timeout = 1; BEGIN NOT ATOMIC DECLARE CONTINUE HANDLER FOR 1205 BEGIN END; ALTER TABLE rows_of_test ADD COLUMN n int FIRST; ALTER TABLE rows_of_test DROP COLUMN n; END"))
	},
}

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

// Catches: an oracle that does not see what is told before it can be read, and kept as it was.
func TestOracleSeesStreamWithoutGate(t *testing.T) {
	t.Parallel()
	s, tr := server(t)
	f := neartest.NewFleet(tr, maxLag)
	f.JoinLocal(t, truth.Prefix, &ungated{t, s.Addr})
	found(t, f, func() { serverFaults["commits wait for a replica"](t, s) })
}

// Catches: an oracle that finds nothing when changes are lost, or vouched for too early.
func TestOracleSeesLiars(t *testing.T) {
	t.Parallel()
	s, tr := server(t)
	for name, lie := range map[string]func(near.Source) near.Source{
		"drop":  func(source near.Source) near.Source { return neartest.Drop(source, 0.15) },
		"ahead": func(source near.Source) near.Source { return neartest.Ahead(source, 3*maxLag) },
	} {
		t.Run(name, func(t *testing.T) {
			l, err := mysql.NewLog(s.DSN(), mysql.LogOptions{Tables: []mysql.Table{tr.Keys()}})
			check(t, err)
			check(t, s.Exec("UPDATE rows_of_test SET version = 0"))
			f := neartest.NewFleet(tr, maxLag)
			f.JoinLocal(t, truth.Prefix, lie(l))
			found(t, f, func() {})
		})
	}
}
