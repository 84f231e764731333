package lincheck

import (
	"runtime"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// TestPinwheel checks histories of the cache in all its configurations.
//
// Catches: readers inside together with a writer, lost updates, loads that undo changes,
// entries that come back, and deadlines kept late or early.
//
// To look for longer:
//
//	go test -C proof ./lincheck -run Pinwheel -lincheck.for 10m -timeout 0
func TestPinwheel(t *testing.T) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			for _, c := range configs {
				t.Run(c.name, func(t *testing.T) {
					defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(w.threads))
					more := first(max(1, c.histories*w.share/500))
					if *runFor > 0 {
						more = until(*runFor / time.Duration(len(ways)*len(configs)))
					}
					r, wrong := Run(w.open(t, c), c.promises(), c.workload, seed(), more)
					report(t, r, wrong)
				})
			}
		})
	}
}

// processors are at least two: with one, clients only take turns.
var processors = max(2, runtime.NumCPU())

// The ways to run a configuration. With as many threads as processors, clients meet within
// nanoseconds. With more, which takes longer, the system also interrupts them where Go
// would not, such as in a critical section.
var ways = []struct {
	name    string
	threads int
	open    func(*testing.T, config) *Subject
	share   int // of a fifth of the histories, in percent
}{
	{"small values", processors, open[[8]int64], 100},
	{"large values", processors, open[[256]int64], 100},
	{"many threads", 2 * processors, open[[256]int64], 20},
}

// A config is a way to make a cache. One with a limit under 1024 has one shard.
type config struct {
	name         string
	limit        int
	policy       cache.Policy
	maxWeight    uint64
	unit         uint32 // of weight
	expire, idle time.Duration
	resize       int  // the limit that a cache made without one gets first
	events       bool // with OnRemove
	ctx          bool // Take has contexts

	refresh         float64
	grace, patience time.Duration
	maxLoads        int

	workload  Workload
	histories int
}

const ms = time.Millisecond

var configs = []config{
	{name: "one shard", limit: 1000, workload: lasting, histories: 400},
	{name: "one shard, events", limit: 1000, events: true, ctx: true, workload: lasting, histories: 300},
	{name: "many shards", workload: lasting, histories: 400},
	{name: "one key", workload: Workload{Keys: 1}, histories: 300},
	{name: "evicts", limit: 3, workload: crowded, histories: 400},
	{name: "evicts by Adaptive, events", limit: 3, policy: cache.Adaptive, events: true, ctx: true, workload: crowded, histories: 300},
	{name: "evicts from many shards", resize: 3, workload: crowded, histories: 300},
	{name: "weighs", maxWeight: 9, unit: 1, workload: crowded, histories: 300},
	{name: "weighs in many shards", policy: cache.Adaptive, maxWeight: 4 * 4096, unit: 2048, events: true, workload: crowded, histories: 300},
	{name: "expires", limit: 1000, expire: ms, workload: mortal, histories: 80},
	{name: "expires in many shards", expire: 2 * ms, events: true, workload: mortal, histories: 80},
	{name: "idle", expire: 3 * ms, idle: ms, workload: mortal, histories: 80},
	{name: "refreshes", limit: 1000, expire: time.Hour, refresh: atOnce, ctx: true, workload: lasting, histories: 300},
	{name: "refreshes, one load at a time", expire: time.Hour, refresh: atOnce, ctx: true, maxLoads: 1, events: true, workload: lasting, histories: 200},
	{name: "refreshes and evicts", limit: 3, expire: time.Hour, refresh: atOnce, ctx: true, events: true, workload: crowded, histories: 300},
	{name: "in grace", limit: 1000, expire: ms, refresh: 0.5, grace: time.Hour, ctx: true, workload: mortal, histories: 80},
	{name: "in grace, with patience", expire: ms, grace: time.Hour, patience: ms, ctx: true, events: true, workload: mortal, histories: 80},
	{name: "in grace, plain Takes", limit: 3, expire: ms, grace: time.Hour, workload: fullDead, histories: 80},
	{name: "expires and evicts", limit: 3, policy: cache.Adaptive, expire: 2 * ms, idle: ms, events: true, workload: fullDead, histories: 80},
}

// atOnce is a Refresh with which every value is due as soon as it is stored.
const atOnce = 1e-9

// detached reports whether loads may go on in the background.
func (c config) detached() bool { return c.refresh > 0 || c.grace > 0 }

// weigh returns a weight from 1 to 5 units, and for some values one above the limit.
func (c config) weigh(value int64) uint32 {
	if n := uint32(value>>10) % 16; n < 15 {
		return (1 + n%5) * c.unit
	}
	return 10 * c.unit
}

func (c config) promises() Promises {
	evicts := c.maxWeight > 0 || c.resize > 0 || c.limit > 0 && c.limit < c.workload.Keys*keySets
	return Promises{Evicts: evicts, Expire: c.expire, Idle: c.idle, StandsIn: c.grace > 0, Beside: true}
}
