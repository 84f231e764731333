package cache

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/pinwheel-cache/pinwheel/cache/codec"
)

// byValue weighs a value as it says.
func byValue(_ int, value int) uint32 { return uint32(value) }

// TestPartsOfTheBudgetDoNotDrift checks that shards keep equal shares of the budget,
// although evictions free more than they must and the next store in any shard takes that.
func TestPartsOfTheBudgetDoNotDrift(t *testing.T) {
	const most = 1 << 20
	c := Must(Options[int, int]{MaxWeight: most, Weigh: byValue})
	c.setShards(16) // of some 40 entries: the fewer there are, the faster parts drift
	zipf := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.01, 1, 10_000)
	for range 2_000_000 {
		k := int(zipf.Uint64())
		if _, ok := c.Get(k); !ok {
			c.Set(k, 200+k*7919%2_800)
		}
	}
	entries := c.Len()
	for i := range c.common.table.Load().shards {
		n, mean := c.common.table.Load().shards[i].slots.len, entries/len(c.common.table.Load().shards)
		if n < mean/2 || n > 2*mean {
			t.Errorf("shard %d has %d entries, where the mean is %d", i, n, mean)
		}
	}
	wantWhole(t, c)
}

// TestRoomMadeStaysReserved checks that room made for a heavy value is not taken by light
// values stored meanwhile.
func TestRoomMadeStaysReserved(t *testing.T) {
	const most = 100_000
	c := Must(Options[int, int]{MaxWeight: most, Weigh: byValue})
	c.setShards(8)
	for k := range most {
		c.Set(k, 1)
	}
	const heavy = 30_000
	u := update[int, int]{hash: c.common.hasher.Hash(-1), key: -1, value: heavy, weight: heavy, life: forever}
	s := c.common.shardOf(u.hash)
	stop := make(chan struct{})
	var others sync.WaitGroup
	defer others.Wait()
	defer close(stop)
	for writer := range 4 {
		others.Go(func() {
			for k := most * (writer + 1); ; k++ {
				select {
				case <-stop:
					return
				default:
					c.Set(k, 1)
				}
			}
		})
	}
	for done := false; !done; {
		before := u.reserved
		s.lock.Lock()
		done = c.endStore(s, &u, u.put(s))
		if !done && u.making && u.reserved <= before && before > 0 {
			t.Errorf("%d were reserved, and now %d are", before, u.reserved)
		}
	}
	if v, ok := c.Peek(-1); v != heavy || !ok {
		t.Errorf("Peek = %d, %v", v, ok)
	}
}

// TestHeavyValuesDoNotDeadlock stores values concurrently that each need most of the
// cache.
func TestHeavyValuesDoNotDeadlock(t *testing.T) {
	const most = 10_000
	c := Must(Options[int, int]{MaxWeight: most, Weigh: byValue})
	c.setShards(4)
	var g sync.WaitGroup
	for writer := range 4 {
		g.Go(func() {
			random := rand.New(rand.NewPCG(uint64(writer), 0))
			for range 300 {
				k := random.IntN(20)
				switch random.IntN(4) {
				case 0:
					c.Set(k, random.IntN(most+2))
				case 1:
					c.GetOrSet(k, random.IntN(most))
				case 2:
					_, _ = c.Take(k, func() (int, error) { return random.IntN(most), nil })
				case 3:
					c.Compute(k, func(old int, _ bool) (int, Op) { return min(old+most/2, most), OpSet })
				}
				for light := range 100 {
					c.Set(100+light, 1)
				}
			}
		})
	}
	g.Wait()
	wantWhole(t, c)
}

// TestOneHoldEvictsABatch checks that one hold of a lock evicts at most a batch, however
// much room a value needs.
func TestOneHoldEvictsABatch(t *testing.T) {
	const most = 10_000
	c := Must(Options[int, int]{MaxWeight: most, Weigh: byValue})
	for k := range most {
		c.Set(k, 1)
	}
	u := update[int, int]{hash: c.common.hasher.Hash(-1), key: -1, value: most, weight: most, life: forever}
	s := c.common.shardOf(u.hash)
	for done := false; !done; {
		before := s.removals[Evicted-Expired]
		s.lock.Lock()
		missing := u.put(s)
		if got := s.removals[Evicted-Expired] - before; got > perHold {
			t.Fatalf("%d were evicted at once", got)
		}
		done = c.endStore(s, &u, missing)
	}
	if got := c.Len(); got != 1 {
		t.Errorf("%d entries are left", got)
	}
}

// TestABatchFreesMoreThanIsNeeded: what the last eviction of a hold frees too much goes back to
// the budget. Otherwise the budget wears out, and a Set of a heavy value tries for ever.
func TestABatchFreesMoreThanIsNeeded(t *testing.T) {
	c := Must(Options[int, int]{MaxWeight: 4 * perHold, Weigh: byValue})
	for k := range 2 * perHold {
		c.Set(k, 2)
	}
	c.Set(-1, 2*perHold-1)
	wantWhole(t, c)
}

// TestWeighedShards checks that a cache which weighs its values gets shards by the number
// of its entries, like one with a Limit, and not by what they weigh; and more after a ResizeWeight.
func TestWeighedShards(t *testing.T) {
	each := int(entriesPerShard(runtime.GOMAXPROCS(0)))
	for _, test := range []struct{ weight, entries int }{{1 << 20, each}, {1 << 10, 4 * each}, {1, 20 * each}} {
		c := Must(Options[int, int]{MaxWeight: uint64(test.weight) * uint64(test.entries), Weigh: byValue})
		for k := range 2 * test.entries {
			c.Set(k, test.weight)
		}
		n := len(c.allShards())
		if perShard := test.entries / n; perShard < each/2 || n > 1 && perShard > 4*each {
			t.Errorf("%d entries of weight %d are in %d shards; want %d to %d in each",
				test.entries, test.weight, n, each, 4*each)
		}
		if got := c.Len(); got != test.entries {
			t.Errorf("%d entries, want %d", got, test.entries)
		}
		if err := c.ResizeWeight(1 << 50); err != nil {
			t.Fatal(err)
		}
		for k := range 8 * test.entries {
			c.Set(k, test.weight)
		}
		if more := len(c.allShards()); more < 2*n || c.Len() != 8*test.entries {
			t.Errorf("%d shards with %d entries, after %d with %d", more, c.Len(), n, test.entries)
		}
		wantWhole(t, c)
	}
}

// TestWeighedSlots checks that a shard of a full cache has no room for many more entries.
func TestWeighedSlots(t *testing.T) {
	const most = 1100
	c := Must(Options[int, int]{MaxWeight: 10 * most, Weigh: byValue})
	for k := range 2 * most {
		c.Set(k, 10)
	}
	if n := len(c.allShards()[0].entries); n > most+most/4 {
		t.Errorf("room for %d entries, where %d are all", n, most)
	}
}

// TestAsHeavyAsTheCache checks that a value which weighs as much as the cache may hold is
// stored, whatever is there, and that the next one replaces it.
func TestAsHeavyAsTheCache(t *testing.T) {
	const limit = 10_000
	for _, p := range []Policy{LRU, Adaptive} {
		c := Must(Options[int, int]{MaxWeight: limit, Weigh: byValue, Policy: p})
		for k := range limit / 10 {
			for range 4 {
				c.GetOrSet(k, 10)
			}
		}
		for k := -1; k > -4; k-- {
			c.Set(k, limit)
			if v, ok := c.Get(k); v != limit || !ok || c.Len() != 1 {
				t.Errorf("%v: Get = %d, %v, and Len %d after a Set of all the weight", p, v, ok, c.Len())
			}
		}
		wantWhole(t, c)
	}
}

// TestBothLimits checks that a cache with a limit of entries and one of weight keeps to both, and changes both.
func TestBothLimits(t *testing.T) {
	for _, shards := range []int{1, 8} {
		c := Must(Options[int, int]{Limit: 10, MaxWeight: 1000, Weigh: byValue})
		c.setShards(shards)
		fill := func(value, want int) {
			t.Helper()
			for k := range 100 {
				if c.Set(k, value); c.Len() > 10 && want <= 10 {
					t.Errorf("%d shards: %d entries", shards, c.Len())
				}
			}
			if entries, _ := c.Limit(); c.Len() != want || entries != c.Stats().Limit || c.Stats().Weight != uint64(want*value) {
				t.Errorf("%d shards, values of %d: %d entries that weigh %d, limit %d; want %d", shards, value, c.Len(), c.Stats().Weight, entries, want)
			}
			wantWhole(t, c)
		}
		fill(1, 10)
		evicted := c.Stats().Removals.Evicted
		for k := 1000; k < 1020; k++ {
			c.Set(k, 1)
		}
		if more := c.Stats().Removals.Evicted - evicted; more != 20 {
			t.Errorf("%d shards: %d entries are evicted for 20 new ones", shards, more)
		}
		if err := c.Resize(4); err != nil { // so that shards are empty
			t.Error(err)
		}
		for k := 2000; k < 2020; k++ {
			fill(1, 4)
			evicted = c.Stats().Removals.Evicted
			if c.Set(k, 400); c.Stats().Removals.Evicted != evicted+1 {
				t.Errorf("%d shards: %d entries are evicted for a heavy one", shards, c.Stats().Removals.Evicted-evicted)
			}
		}
		if err := c.Resize(10); err != nil {
			t.Error(err)
		}
		fill(400, 2)
		fill(5, 10)
		if err := c.Resize(4); err != nil || c.Len() != 4 {
			t.Errorf("Resize: %v, %d entries", err, c.Len())
		}
		fill(1, 4)
		if err := c.Resize(0); err != nil {
			t.Error(err)
		}
		fill(1, 100)
		if entries, _ := c.Limit(); entries != 0 {
			t.Errorf("after Resize(0) the limit is %d", entries)
		}
		if err := c.ResizeWeight(50); err != nil || c.Len() != 50 {
			t.Errorf("ResizeWeight: %v, %d entries", err, c.Len())
		}
		if err := c.Resize(10); err != nil || c.Len() != 10 {
			t.Errorf("Resize after that: %v, %d entries", err, c.Len())
		}
		c.Clear()
		wantWhole(t, c)
		fill(2, 10)
		mustClose(t, c)
	}
}

// TestBothLimitsAtOnce has callers that store, remove and clear meet: no entry is lost or counted twice.
func TestBothLimitsAtOnce(t *testing.T) {
	const limit = 40
	c := Must(Options[int, int]{Limit: limit, MaxWeight: 400, Weigh: byValue})
	c.setShards(8)
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(n), 1))
			for range 20_000 {
				switch k := random.IntN(200); random.IntN(20) {
				case 0:
					c.Del(k)
				case 1:
					if k == 0 {
						c.Clear()
					}
				default:
					c.Set(k, 1+random.IntN(30))
				}
				if n := c.Len(); n > limit {
					t.Errorf("%d entries", n)
					return
				}
			}
		})
	}
	all.Wait()
	wantWhole(t, c)
}

// TestRestoreIntoBothLimits checks that the hottest entries are restored, if there is room for some.
func TestRestoreIntoBothLimits(t *testing.T) {
	from := Must(Options[int, int]{Limit: 100, MaxWeight: 1000, Weigh: byValue})
	for k := range 20 {
		from.Set(k, 3)
	}
	var file bytes.Buffer
	encode, decode := codec.Gob[int, int]()
	if err := from.Save(&file, encode); err != nil {
		t.Fatal(err)
	}
	to := Must(Options[int, int]{Limit: 5, MaxWeight: 1000, Weigh: byValue})
	if n, err := to.Restore(&file, decode); n != 5 || err != nil || to.Len() != 5 {
		t.Errorf("%d restored, %v, %d entries", n, err, to.Len())
	}
	for k := 15; k < 20; k++ {
		if _, ok := to.Peek(k); !ok {
			t.Errorf("%d is not there", k)
		}
	}
	wantWhole(t, to)
}
