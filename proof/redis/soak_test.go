package redis_test

import (
	"flag"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/redis"
)

var soakFor = flag.Duration("redis.soak", 3*time.Second, "have faults at random for this long in TestSoak")

// TestSoak applies all faults of the server and of the network to one fleet, at random, for the
// time -redis.soak. Half of the writes are by a program without near caches, on another network.
//
// Catches: rare errors, and those that need several faults.
func TestSoak(t *testing.T) { inEachWay(t, testSoak) }

func testSoak(t *testing.T, way []string) {
	t.Parallel()
	s := server(t, append([]string{"--enable-debug-command", "yes", "--tracking-table-max-keys", "10", "--maxmemory", "3mb", "--maxmemory-policy", "allkeys-random"}, way...)...)
	p := neartest.NewProxy(t, s.Addr)
	f := connect(t, redis.Options{}, p.Addr)
	f.db.remove = either(f.del, foreignDel(t, s))
	networkFaults, ways := slices.Sorted(maps.Keys(neartest.Faults)), slices.Sorted(maps.Keys(directions))
	happened, gone := map[string]int{}, 0
	f.Run(t, func() {
		for end, told := time.Now().Add(*soakFor), time.Now(); time.Now().Before(end); time.Sleep(rand.N(4 * maxLag)) {
			if n := rand.N(len(serverFaults) + len(networkFaults)); n < len(serverFaults) {
				c := serverFaults[n]
				happened[c.name]++
				c.fault(t, s)
				time.Sleep(c.pause)
				if c.name == "evictions" {
					gone = max(gone, evicted(t, s)) // a restart resets the count
				}
			} else {
				name := networkFaults[n-len(serverFaults)]
				happened[name]++
				p.Suffer(neartest.Faults[name], rand.N(3*maxLag), directions[ways[rand.N(len(ways))]]...)
			}
			if time.Since(told) > time.Minute {
				told = time.Now()
				t.Log(f)
			}
		}
	})
	f.Verdict(t)
	t.Logf("%v, %d keys evicted", happened, gone)
	if happened["evictions"] > 0 && gone == 0 {
		t.Error("nothing was evicted")
	}
}
