package cache

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

// TestSmallCaches checks that an empty cache takes at most 4 KB, and one with ten entries
// that are read often at most 6 KB, whatever the limit and the number of processors.
func TestSmallCaches(t *testing.T) {
	if !alone(t) {
		return
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	const caches = 1000 // so many that what else is on the heap does not count
	for _, procs := range []int{1, 2, 8, 64} {
		runtime.GOMAXPROCS(procs)
		for _, o := range []Options[uint64, uint64]{
			{},
			{Expire: time.Hour},
			{Limit: 1000, Expire: time.Hour},
			{Limit: 1000, Expire: time.Hour, Negative: func(error) time.Duration { return time.Second }},
			{Limit: 1 << 20, Expire: 5 * time.Minute},
		} {
			for entries, most := range map[uint64]int64{0: 4 << 10, 10: 6 << 10} {
				before := settle.Heap()
				all := make([]*Cache[uint64, uint64], caches)
				for i := range all {
					all[i] = Must(o)
					for k := range entries {
						all[i].Set(k, k)
						for range 20 {
							all[i].Get(k)
						}
					}
				}
				if each := (settle.Heap() - before) / caches; each > most {
					t.Errorf("%d processors, limit %d, TTL %v: %d bytes for %d entries, want at most %d", procs, o.Limit, o.Expire, each, entries, most)
				}
				runtime.KeepAlive(all)
			}
		}
	}
}

// alone says whether a test runs in a process of its own, and otherwise runs it in one:
// what earlier tests have left must not be measured. After a test of the statistics page,
// say, each new cache also has a history.
func alone(t *testing.T) bool {
	if os.Getenv("TEST_ALONE") == t.Name() {
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), "TEST_ALONE="+t.Name())
	out, err := cmd.CombinedOutput()
	if t.Logf("%s", out); err != nil {
		t.Error(err)
	}
	return false
}

// TestFreshnessMemory checks that Refresh and Grace take eight bytes per entry, and the
// other options of freshness none. There is no limit, so arrays double, and the rounding
// of the allocator does not count.
func TestFreshnessMemory(t *testing.T) {
	if !alone(t) {
		return
	}
	const entries = 100_000
	bytes := func(change func(*Options[uint64, uint64])) float64 {
		o := Options[uint64, uint64]{Expire: time.Hour}
		change(&o)
		before := settle.Heap()
		c := Must(o)
		for k := range uint64(entries) {
			c.Set(k, k)
		}
		took := settle.Heap() - before
		slots := 0
		for i := range c.allShards() {
			slots += len(c.allShards()[i].entries)
		}
		runtime.KeepAlive(c)
		return float64(took) / float64(slots)
	}
	type options = Options[uint64, uint64]
	without := bytes(func(*options) {})
	for name, test := range map[string]struct {
		change func(*options)
		most   float64
	}{
		"Refresh":           {func(o *options) { o.Refresh = 0.8 }, 8},
		"Grace":             {func(o *options) { o.Grace, o.Patience = time.Hour, time.Second }, 8},
		"Refresh and Grace": {func(o *options) { o.Refresh, o.Grace = 0.8, time.Hour }, 8},
		"others": {func(o *options) {
			o.Timeout, o.MaxLoads, o.Negative = time.Second, 10, func(error) time.Duration { return time.Second }
		}, 0},
	} {
		if more := bytes(test.change) - without; more > test.most+1 { // shards differ a little
			t.Errorf("%s: %.2f bytes more for an entry than %.2f, want at most %v", name, more, without, test.most)
		}
	}
}

// TestSmallShardsMemory checks that shards that are small, as there are many processors, have small
// rings: with 512 slots to a level an entry took two bytes more; and that a plain cache has no
// arrays but those of its entries and their index.
func TestSmallShardsMemory(t *testing.T) {
	if !alone(t) {
		return
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(16))
	const limit = 100_000
	for _, test := range []struct {
		o    Options[uint64, uint64]
		most float64
	}{{Options[uint64, uint64]{Limit: limit, Expire: time.Hour}, 64.5}, {Options[uint64, uint64]{}, 35}} {
		before := settle.Heap()
		c := Must(test.o)
		for k := range uint64(3 * limit) {
			c.Set(k, k)
		}
		slots := slotsOf(c)
		if test.o.Limit > 0 {
			slots = limit
		}
		if each := float64(settle.Heap()-before) / float64(slots); each > test.most {
			t.Errorf("limit %d: %.2f bytes per entry in %d shards, want at most %v", test.o.Limit, each, len(c.allShards()), test.most)
		}
		runtime.KeepAlive(c)
	}
}
