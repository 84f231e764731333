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
func TestSoak(t *testing.T) { eachMode(t, "faults", nil, soak) }

func soak(t *testing.T, args []string) {
	s := server(t, append(args, "--enable-debug-command", "yes", "--busy-reply-threshold", "100", "--tracking-table-max-keys", "10", "--maxmemory", "3mb", "--maxmemory-policy", "allkeys-random")...)
	p := newProxy(t, s.Addr)
	f := newFleet(t, redis.Options{}, p.Addr)
	happened, gone := map[string]int{}, 0
	f.Run(t, neartest.Either(f.Revoke, foreignDel(t, s)), func() {
		network := slices.Sorted(maps.Keys(neartest.Faults()))
		for end, told := time.Now().Add(*soakFor), time.Now(); time.Now().Before(end); time.Sleep(rand.N(4 * maxLag)) {
			if n := rand.N(len(serverFaults) + len(network)); n < len(serverFaults) {
				c := serverFaults[n]
				happened[c.name]++
				c.fault(t, s)
				time.Sleep(c.pause)
				if c.name == "evictions" {
					gone = max(gone, evicted(t, s)) // a restart resets the count
				}
			} else {
				name := network[n-len(serverFaults)]
				happened[name]++
				over := p.Begin(neartest.Faults()[name], neartest.Direction(1+rand.N(3)))
				time.Sleep(rand.N(3 * maxLag))
				over()
			}
			if time.Since(told) > time.Minute {
				told = time.Now()
				t.Log(&f.Traffic)
			}
		}
	})
	f.Verdict(t)
	t.Logf("%v, %d keys evicted", happened, gone)
	if happened["evictions"] > 0 && gone == 0 {
		t.Error("nothing was evicted")
	}
}
