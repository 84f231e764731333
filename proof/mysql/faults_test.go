//go:build faults

// The faults run by hand, until a stale answer is explained that one run in seven had on a busy
// machine, with faults of the network (docs/truth.md):
//
//	go test -C proof -tags faults ./mysql -mysql.soak 10m -timeout 0 -v

package mysql_test

import (
	"flag"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near/neartest"
)

var soakFor = flag.Duration("mysql.soak", 3*time.Second, "have faults at random for this long in TestSoak")

// TestServerFaults has three instances read while rows are written by plain SQL, transactions stay
// open, and the server fails.
//
// Catches: a fault after which an instance serves a version that was replaced more than MaxLag
// ago.
func TestServerFaults(t *testing.T) {
	t.Parallel()
	s, tr := server(t)
	f := newFleet(t, tr, s.DSN())
	f.Run(t, func() {
		for _, name := range slices.Sorted(maps.Keys(serverFaults)) {
			serverFaults[name](t, s)
			time.Sleep(2 * maxLag)
		}
	})
	f.Verdict(t)
}

// TestNetworkFaults breaks the way of the sources to the server and back. Loads and writers use
// another way.
func TestNetworkFaults(t *testing.T) {
	t.Parallel()
	s, tr := server(t)
	p := neartest.NewProxy(t, s.Addr)
	f := newFleet(t, tr, strings.Replace(s.DSN(), s.Addr, p.Addr, 1))
	f.Run(t, func() {
		for _, name := range slices.Sorted(maps.Keys(neartest.Faults)) {
			for _, direction := range []neartest.Direction{neartest.ToServer, neartest.FromServer} {
				p.Suffer(neartest.Faults[name], maxLag, direction)
				time.Sleep(maxLag / 2)
			}
		}
	})
	f.Verdict(t)
}

// TestSoak has all faults of the server and the network at random, for the time -mysql.soak.
func TestSoak(t *testing.T) {
	t.Parallel()
	s, tr := server(t)
	p := neartest.NewProxy(t, s.Addr)
	f := newFleet(t, tr, strings.Replace(s.DSN(), s.Addr, p.Addr, 1))
	servers, networks := slices.Sorted(maps.Keys(serverFaults)), slices.Sorted(maps.Keys(neartest.Faults))
	happened := map[string]int{}
	f.Run(t, func() {
		for end := time.Now().Add(*soakFor); time.Now().Before(end); time.Sleep(rand.N(3 * maxLag)) {
			if n := rand.N(len(servers) + len(networks)); n < len(servers) {
				happened[servers[n]]++
				serverFaults[servers[n]](t, s)
			} else {
				name := networks[n-len(servers)]
				happened[name]++
				p.Suffer(neartest.Faults[name], rand.N(3*maxLag), neartest.Direction(rand.N(2)))
			}
		}
	})
	f.Verdict(t)
	t.Log(happened)
}
