package postgres_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/postgres"
	"github.com/pinwheel-cache/pinwheel/near/postgres/pgtest"
	"github.com/pinwheel-cache/pinwheel/proof/internal/truth"
)

var logOptions = postgres.LogOptions{Tables: []postgres.Table{rowsTable}}

// newLogFleet has three instances read the log of a server.
func newLogFleet(t testing.TB, tr *truth.Postgres, s *pgtest.Server) *neartest.Fleet {
	t.Helper()
	check(t, s.Exec(postgres.LogSQL(logOptions)))
	f := neartest.NewFleet(tr, maxLag)
	for range instances {
		l, err := postgres.NewLog(s.URL(), logOptions)
		check(t, err)
		f.JoinLocal(t, prefix, l)
	}
	return f
}

const killStreams = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'walsender'"

// logFaults are those that only a Log has, by name.
var logFaults = map[string]func(t testing.TB, s *pgtest.Server){
	"streams killed": func(t testing.TB, s *pgtest.Server) { check(t, s.Exec(killStreams)) },
	"publication altered": func(t testing.TB, s *pgtest.Server) {
		check(t, s.Exec("ALTER PUBLICATION pinwheel DROP TABLE rows; ALTER PUBLICATION pinwheel ADD TABLE rows"))
	},
	"commits wait for a standby": func(t testing.TB, s *pgtest.Server) {
		check(t, s.Exec("ALTER SYSTEM SET synchronous_standby_names = 'nobody'"))
		check(t, s.Exec("SELECT pg_reload_conf()"))
		time.Sleep(rand.N(2 * maxLag))
		check(t, s.Exec("ALTER SYSTEM RESET synchronous_standby_names"))
		check(t, s.Exec("SELECT pg_reload_conf()"))
	},
}

// Catches: a fault after which an instance with a Log serves a version that was replaced more than
// MaxLag ago.
func TestLogFaults(t *testing.T) {
	t.Parallel()
	s := server(t)
	tr := newTruth(t, s)
	tr.Open = maxLag // a slot waits for transactions that are open
	f := newLogFleet(t, tr, s)
	f.Run(t, func() {
		faults := maps.Clone(logFaults)
		for _, name := range []string{"connections killed", "restart", "crash", "stop"} {
			faults[name] = serverFaults[name]
		}
		for _, name := range slices.Sorted(maps.Keys(faults)) {
			faults[name](t, s)
			time.Sleep(5 * maxLag)
		}
	})
	f.Verdict(t)
}
