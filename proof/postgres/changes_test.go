package postgres_test

import (
	"context"
	"flag"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/postgres"
	"github.com/pinwheel-cache/pinwheel/near/postgres/pgtest"
	"github.com/pinwheel-cache/pinwheel/proof/internal/truth"
)

var soakFor = flag.Duration("postgres.soak", 3*time.Second, "have faults at random for this long in TestSoak")

// newFleet has three instances poll a server at url.
func newFleet(t testing.TB, tr *truth.Postgres, url string) *neartest.Fleet {
	t.Helper()
	f := neartest.NewFleet(tr, maxLag)
	for range instances {
		c, err := postgres.NewChanges(pool(t, url), postgres.ChangesOptions{Tables: []postgres.Table{rowsTable}})
		check(t, err)
		f.JoinLocal(t, prefix, c)
	}
	return f
}

const killAll = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"

// serverFaults are faults of a server, by name.
var serverFaults = map[string]func(t testing.TB, s *pgtest.Server){
	"connections killed": func(t testing.TB, s *pgtest.Server) { check(t, s.Exec(killAll)) },
	"restart":            func(t testing.TB, s *pgtest.Server) { s.Shutdown(); check(t, s.Restart()) },
	"crash":              func(t testing.TB, s *pgtest.Server) { s.Crash(); check(t, s.Restart()) },
	"crash of a process": func(t testing.TB, s *pgtest.Server) { check(t, s.CrashProcess()) },
	"stop": func(t testing.TB, s *pgtest.Server) {
		resume, err := s.Pause()
		check(t, err)
		time.Sleep(rand.N(3 * maxLag))
		check(t, resume())
	},
	"lock of the table of changes": func(t testing.TB, s *pgtest.Server) {
		check(t, s.Exec("BEGIN; LOCK TABLE pinwheel.changes IN SHARE MODE; SELECT pg_sleep(0.4); COMMIT"))
	},
	"VACUUM FULL": func(t testing.TB, s *pgtest.Server) { check(t, s.Exec("VACUUM FULL pinwheel.changes")) },
	"migration":   func(t testing.TB, s *pgtest.Server) { check(t, s.Exec(postgres.SQL(rowsTable))) },
}

// TestServerFaults has three instances read while rows are written by plain SQL, transactions stay
// open, and the server fails.
//
// Catches: a fault after which an instance serves a version that was replaced more than MaxLag
// ago.
func TestServerFaults(t *testing.T) {
	t.Parallel()
	s := server(t)
	f := newFleet(t, newTruth(t, s), s.URL())
	f.Run(t, func() {
		for _, name := range slices.Sorted(maps.Keys(serverFaults)) {
			serverFaults[name](t, s)
			time.Sleep(maxLag)
		}
	})
	f.Verdict(t)
}

// TestNetworkFaults breaks the way of the polls to the server and back. Loads and writers use
// another way.
func TestNetworkFaults(t *testing.T) {
	t.Parallel()
	s := server(t)
	p := neartest.NewProxy(t, s.Addr)
	f := newFleet(t, newTruth(t, s), strings.Replace(s.URL(), s.Addr, p.Addr, 1))
	f.Run(t, func() {
		for _, name := range slices.Sorted(maps.Keys(neartest.Faults)) {
			for _, directions := range [][]neartest.Direction{{neartest.ToServer}, {neartest.FromServer}} {
				p.Suffer(neartest.Faults[name], maxLag, directions...)
				time.Sleep(maxLag / 2)
			}
		}
	})
	f.Verdict(t)
}

// TestBouncer has polls, loads and writers go through pgbouncer in transaction mode, which is
// killed.
func TestBouncer(t *testing.T) {
	t.Parallel()
	s := server(t)
	b, err := pgtest.StartBouncer(s)
	pgtest.Started(t, b, err)
	tr := newTruth(t, s)
	through := pool(t, b.URL())
	tr.Readers = func(ctx context.Context, row int) (int, error) { return tr.Version(ctx, through, row) }
	f := newFleet(t, tr, b.URL())
	f.Run(t, func() {
		for range 3 {
			time.Sleep(maxLag)
			b.Kill()
			time.Sleep(rand.N(maxLag))
			check(t, b.Restart())
		}
	})
	f.Verdict(t)
}

// TestStandby has loads read a standby that is slow. They wait until it has what was told.
func TestStandby(t *testing.T) {
	t.Parallel()
	s := server(t)
	slow, err := s.Standby("recovery_min_apply_delay=20ms")
	pgtest.Started(t, slow, err)
	tr, standby := newTruth(t, s), pool(t, slow.URL())
	tr.Open = maxLag / 4 // a transaction holds up those that the standby replays after it
	c, err := postgres.NewChanges(tr.DB, postgres.ChangesOptions{Tables: []postgres.Table{rowsTable}})
	check(t, err)
	tr.Readers = func(ctx context.Context, row int) (int, error) {
		if err := c.Replayed(ctx, standby); err != nil {
			return 0, err
		}
		return tr.Version(ctx, standby, row)
	}
	f := neartest.NewFleet(tr, maxLag)
	f.JoinLocal(t, prefix, c)
	f.Run(t, func() { time.Sleep(3 * maxLag) })
	f.Verdict(t)
}

// TestPromotion promotes a standby that has all commits, behind the same address.
func TestPromotion(t *testing.T) {
	t.Parallel()
	s := server(t)
	standby, err := s.Standby()
	pgtest.Started(t, standby, err)
	check(t, s.Exec("ALTER SYSTEM SET synchronous_standby_names = '*'"))
	check(t, s.Exec("SELECT pg_reload_conf()"))
	p := neartest.NewProxy(t, s.Addr)
	url := strings.Replace(s.URL(), s.Addr, p.Addr, 1)
	tr := newTruth(t, s)
	tr.DB = pool(t, url)
	f := newFleet(t, tr, url)
	f.Run(t, func() {
		time.Sleep(2 * maxLag)
		s.Crash()
		p.Lead(standby.Addr)
		check(t, standby.Promote())
		time.Sleep(3 * maxLag)
	})
	f.Verdict(t)
}

// TestSoak has all faults of the server and the network at random, for the time -postgres.soak.
func TestSoak(t *testing.T) {
	t.Parallel()
	s := server(t)
	p := neartest.NewProxy(t, s.Addr)
	f := newFleet(t, newTruth(t, s), strings.Replace(s.URL(), s.Addr, p.Addr, 1))
	servers, networks := slices.Sorted(maps.Keys(serverFaults)), slices.Sorted(maps.Keys(neartest.Faults))
	happened := map[string]int{}
	f.Run(t, func() {
		for end, told := time.Now().Add(*soakFor), time.Now(); time.Now().Before(end); time.Sleep(rand.N(3 * maxLag)) {
			if n := rand.N(len(servers) + len(networks)); n < len(servers) {
				happened[servers[n]]++
				serverFaults[servers[n]](t, s)
			} else {
				name := networks[n-len(servers)]
				happened[name]++
				p.Suffer(neartest.Faults[name], rand.N(3*maxLag), neartest.Direction(rand.N(2)))
			}
			if time.Since(told) > time.Minute {
				told = time.Now()
				t.Log(f)
			}
		}
	})
	f.Verdict(t)
	t.Log(happened)
}
