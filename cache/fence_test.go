package cache

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestFencesOfOneKey checks that several computations of one key each have their own
// fence: the end of one removes only its own, and a change breaks all.
func TestFencesOfOneKey(t *testing.T) {
	c := Must(Options[int, int]{})
	s := &c.shared.table.Load().shards[0]
	for ended := range 3 {
		h := c.shared.hasher.Hash(1)
		var tickets [3]uint64
		for i := range tickets {
			tickets[i] = s.addFence(h, 1, 0)
		}
		other := s.addFence(h, 2, 0) // a key with the same hash
		if s.removeFence(tickets[ended]).broken {
			t.Errorf("fence %d did not hold", ended)
		}
		if !s.isFenced(h, 1) || s.isFenced(h, 3) {
			t.Error("want a fence on 1, and none on 3")
		}
		s.breakFences(h, 1)
		if s.isFenced(h, 1) || !s.isFenced(h, 2) {
			t.Error("want the fences on 1 broken, and that on 2 not")
		}
		for i, ticket := range tickets {
			if i != ended && !s.removeFence(ticket).broken {
				t.Errorf("number %d has ended: fence %d holds", ended, i)
			}
		}
		if s.breakAllFences(); !s.removeFence(other).broken {
			t.Error("breakAllFences leaves a fence")
		}
		if s.fenced != 0 || len(s.fences.list) != 0 {
			t.Errorf("%d fences are left over", s.fenced)
		}
	}
}

// TestComputePanicRemovesItsFence checks that no fence is left when the function of
// Compute panics.
func TestComputePanicRemovesItsFence(t *testing.T) {
	c := Must(Options[int, int]{})
	func() {
		defer func() { _ = recover() }()
		c.Compute(1, func(int, bool) (int, Op) { panic("on purpose") })
	}()
	if err := c.check(); err != nil {
		t.Error(err)
	}
}

// TestComputesSideBySide checks that each of two Computes in one shard, whichever ends first,
// notices a change of its key and only that, also if one began before the shard was split.
func TestComputesSideBySide(t *testing.T) {
	for _, changed := range []int{0, 1} {
		for _, first := range []int{0, 1} {
			synctest.Test(t, func(t *testing.T) {
				c := Must(Options[int, int]{})
				c.setShards(1)
				var keys, calls, results [2]int
				var gates [2]chan struct{}
				compute := func(n int) {
					gates[n] = make(chan struct{})
					go func() {
						results[n], _ = c.Compute(keys[n], func(old int, _ bool) (int, Op) {
							if calls[n]++; calls[n] == 1 {
								<-gates[n]
							}
							return old + 1, OpSet
						})
					}()
					synctest.Wait()
				}
				c.Set(keys[0], 10)
				compute(0)
				c.splitInto(4)
				h := c.shared.hasher.Hash
				for keys[1] = 1; c.shared.shardOf(h(keys[1])) != c.shared.shardOf(h(keys[0])); keys[1]++ {
				}
				c.Set(keys[1], 10)
				compute(1)
				c.Set(keys[changed], 100)
				close(gates[first])
				synctest.Wait()
				close(gates[1-first])
				synctest.Wait()
				for n := range results {
					if n == changed && (calls[n] != 2 || results[n] != 101) || n != changed && (calls[n] != 1 || results[n] != 11) {
						t.Errorf("changed %d, first %d: number %d was called %d times and is %d", changed, first, n, calls[n], results[n])
					}
				}
				if err := c.check(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestComputeIsToldToTheWatch checks that a value that Compute only replaces is told to what
// watches the cache.
func TestComputeIsToldToTheWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[int, int]{Limit: 1, Expire: time.Hour, Ages: true})
		defer c.Close(t.Context())
		c.Set(1, 1)
		time.Sleep(time.Minute)
		c.Compute(1, func(old int, _ bool) (int, Op) { return old + 1, OpSet })
		time.Sleep(time.Second)
		c.Set(2, 1)
		if age := c.Stats().EvictedAge.Quantile(1); age > 10*time.Second {
			t.Errorf("the value was evicted at an age of %v, want about a second", age)
		}
	})
}

// TestComputeOfWhatExpires checks that a result computed from a value that expires
// meanwhile is not stored.
func TestComputeOfWhatExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[int, int]{})
		c.SetWithExpire(1, 10, time.Second)
		calls := 0
		v, ok := c.Compute(1, func(old int, found bool) (int, Op) {
			if calls++; calls == 1 {
				time.Sleep(time.Minute)
			}
			return old + 1, OpSet
		})
		if v != 1 || !ok || calls != 2 {
			t.Errorf("Compute = %d, %v after %d calls, want 1 after 2", v, ok, calls)
		}
	})
}

// TestLoadThatWaitsForRoom checks that a change of the key still makes a load stale while
// its result waits for other shards to make room.
func TestLoadThatWaitsForRoom(t *testing.T) {
	c := fourShards()
	if err := c.Resize(1); err != nil {
		t.Fatal(err)
	}
	c.Set(1, 0) // all the budget is in another shard
	_, l, err := c.shared.join(0, aPlainTake(), nil)
	if l == nil || err != nil {
		t.Fatalf("join = %v, %v", l, err)
	}
	s := c.shared.lock(l.hash)
	missing := s.endLoad(l, &update[int, int]{hash: l.hash, weight: 1, life: forever})
	s.lock.Unlock()
	if missing != 1 {
		t.Fatalf("%d is missing, want 1", missing)
	}
	c.Del(0)
	c.shared.end(l)
	if _, ok := c.Peek(0); ok {
		t.Error("a load undoes a Del")
	}
	if err := c.check(); err != nil {
		t.Error(err)
	}
}

// TestMapsOfLoadsShrink checks that the memory of many concurrent loads and Computes is
// freed, and that those still running are not lost.
func TestMapsOfLoadsShrink(t *testing.T) {
	const n = 1000
	c := Must(Options[int, int]{Limit: 1})
	s := &c.shared.table.Load().shards[0]
	var loads []*load[int, int]
	tickets := make([]uint64, n)
	for k := range n {
		_, l, _ := c.shared.join(k, aPlainTake(), nil)
		l.Err = ErrGoexit
		loads = append(loads, l)
		tickets[k] = s.addFence(uint64(k), k, 0)
	}
	for k := range n - 1 {
		c.shared.end(loads[k])
		s.removeFence(tickets[k])
	}
	if s.peakLoads > n/2 {
		t.Errorf("a map for %d loads, with one", s.peakLoads)
	}
	if s.loads[n-1] != loads[n-1] || !s.isFenced(n-1, n-1) {
		t.Error("the last load or fence is lost")
	}
	c.shared.end(loads[n-1])
	if s.removeFence(tickets[n-1]); cap(s.fences.list) > fewFences {
		t.Errorf("room for %d fences, with none", cap(s.fences.list))
	}
	if err := c.check(); err != nil {
		t.Error(err)
	}
}

func aPlainTake() *caller {
	who := new(shared[int, int]).plainCaller()
	return &who
}
