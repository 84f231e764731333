// Package acceptance tests the cache from outside: a TestPromiseN for each promise of the
// README, the methods that no promise covers (in this file), and a ledger of all values.
//
// All time is the fake time of testing/synctest, except in a few tests that need real
// threads or the garbage collector. Every subtest says in one line what it catches.
package acceptance

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

func TestMain(m *testing.M) {
	settle.VerifyTestMain(m)
}

func TestResize(t *testing.T) {
	// Catches: Resize that leaves the surplus to later Sets, evicts the wrong end, or does not report.
	Bubble(t, "down evicts the oldest at once", func(t *testing.T) {
		var rec Recorder[string, int]
		c := New(t, cache.Options[string, int]{Limit: 5, OnRemove: rec.Add})
		for i, k := range Numbered("k", 5) {
			c.Set(k, i)
		}
		MustResize(t, c, 2)
		WantLen(t, c, 2)
		WantEvents(t, &rec, Event("k0", 0, cache.Evicted), Event("k1", 1, cache.Evicted), Event("k2", 2, cache.Evicted))
		c.Set("k5", 5)
		WantEvents(t, &rec, Event("k3", 3, cache.Evicted))
		WantHit(t, c, "k4", 4)
		WantHit(t, c, "k5", 5)
	})

	// Catches: Resize that rebuilds and forgets, or that does not use the new room.
	Bubble(t, "up keeps and makes room", func(t *testing.T) {
		c := New(t, cache.Options[string, int]{Limit: 3})
		keys := Numbered("k", 6)
		for i, k := range keys[:3] {
			c.Set(k, i)
		}
		MustResize(t, c, 6)
		for i, k := range keys[3:] {
			c.Set(k, i+3)
		}
		for i, k := range keys {
			WantHit(t, c, k, i)
		}
		c.Set("one more", 1)
		WantLen(t, c, 6)
	})

	// Catches: a cache of many shards whose small new limit leaves shards with room for nothing.
	for _, limit := range []int{0, 1 << 16} {
		Bubble(t, fmt.Sprintf("from %d to 3", limit), func(t *testing.T) {
			c := New(t, cache.Options[string, int]{Limit: limit})
			Fill(c, 1000)
			MustResize(t, c, 3)
			if n := c.Len(); n > 3 {
				t.Fatalf("Len = %d after Resize(3)", n)
			}
			for i, k := range Numbered("new", 200) {
				c.Set(k, i)
				WantHit(t, c, k, i)
				if n := c.Len(); n > 3 {
					t.Fatalf("Len = %d after Resize(3)", n)
				}
			}
		})
	}

	// Catches: 0 taken for "room for nothing", or for the old limit.
	Bubble(t, "to none", func(t *testing.T) {
		c := New(t, cache.Options[string, int]{Limit: 10})
		Fill(c, 20)
		MustResize(t, c, 0)
		Fill(c, 10_000)
		WantLen(t, c, 10_000)
	})

	// Catches: a limit that grows past the size where shards begin, and is not honoured.
	Bubble(t, "from 100 to 10000", func(t *testing.T) {
		c := New(t, cache.Options[string, int]{Limit: 100})
		MustResize(t, c, 10_000)
		for i := range 30_000 {
			c.Set(strconv.Itoa(i), i)
		}
		if n := c.Len(); n <= 5_000 || n > 10_000 {
			t.Errorf("Len = %d, want about and at most 10000", n)
		}
	})

	// Catches: a limit that is only checked by New.
	Bubble(t, "negative is an error", func(t *testing.T) {
		c := New(t, cache.Options[string, int]{Limit: 2})
		c.Set("k", 1)
		if err := c.Resize(-1); err == nil {
			t.Error("Resize(-1) = nil, want an error")
		}
		WantHit(t, c, "k", 1)
	})

	// Catches: a crash, or a broken weight limit, when a cache limited by weight is resized.
	Bubble(t, "a weighted cache survives it", func(t *testing.T) {
		c := New(t, cache.Options[string, int]{MaxWeight: 10, Weigh: func(string, int) uint32 { return 5 }})
		c.Set("a", 1)
		c.Set("b", 2)
		t.Logf("Resize(1) of a weighted cache: %v", c.Resize(1))
		c.Set("c", 3)
		WantHit(t, c, "c", 3)
		if w := c.Stats().Weight; w > 10 {
			t.Errorf("weight %d above its limit of 10", w)
		}
	})

	// Catches: Resize that is not safe beside writers.
	t.Run("beside writers", func(t *testing.T) {
		c := New(t, cache.Options[string, int]{Limit: 1000})
		var writers sync.WaitGroup
		for g := range 4 {
			writers.Go(func() {
				for i := range Scaled(20_000) {
					c.Set(strconv.Itoa(g*7+i%3000), i)
				}
			})
		}
		for i := range Scaled(1000) {
			MustResize(t, c, []int{10, 5000, 100, 1, 20_000}[i%5])
		}
		MustResize(t, c, 10)
		writers.Wait()
		if n := c.Len(); n > 10 {
			t.Errorf("Len = %d after Resize(10)", n)
		}
	})
}

func TestAll(t *testing.T) {
	// Catches: an entry left out or yielded twice, and an expired one yielded.
	Bubble(t, "each entry once", func(t *testing.T) {
		c := New(t, cache.Options[string, int]{})
		for i, k := range Numbered("k", 3000) {
			c.Set(k, i)
		}
		c.SetWithExpire("expired", 1, time.Second)
		time.Sleep(time.Second)
		seen := Collect(t, c)
		for i, k := range Numbered("k", 3000) {
			if v, ok := seen[k]; !ok || v != i {
				t.Fatalf("%s: yielded %d, %t; want %d", k, v, ok, i)
			}
		}
		if len(seen) != 3000 {
			t.Errorf("%d keys yielded, want 3000", len(seen))
		}
	})

	// Catches: yield called again after it returned false (the runtime panics), a lock left held.
	Bubble(t, "stops early", func(t *testing.T) {
		c := New(t, cache.Options[string, int]{})
		Fill(c, 100)
		for stop := range 20 {
			n := 0
			for range c.All() {
				if n++; n > stop {
					break
				}
			}
		}
		c.Set("after", 1)
		WantHit(t, c, "after", 1)
	})

	// Catches: a lock held while the body runs, and stable keys lost or repeated when the arrays
	// grow, shrink or are reordered meanwhile.
	for _, limit := range []int{0, 4000, 20_000} {
		Bubble(t, fmt.Sprintf("the body may call the cache, limit %d", limit), func(t *testing.T) {
			c := New(t, cache.Options[string, int]{Limit: limit})
			stable := Numbered("stable", 300)
			for i, k := range stable {
				c.Set(k, i)
			}
			times := map[string]int{}
			churn := 0
			for k := range c.All() {
				times[k]++
				for range 10 {
					churn++
					c.Set(fmt.Sprint("churn", churn), churn)
					c.Get(k)
					c.Del(fmt.Sprint("churn", churn-50))
				}
				if churn >= 100_000 {
					break // All may yield what is added meanwhile: the loop must end
				}
			}
			for _, k := range stable {
				if _, here := c.Peek(k); here && times[k] != 1 {
					t.Errorf("%s: yielded %d times, want once", k, times[k])
				}
			}
		})
	}

	// Catches: arrays that shrink and so move entries from slots that All has yet to visit to slots that
	// it has visited.
	Bubble(t, "the body may remove most", func(t *testing.T) {
		c := New(t, cache.Options[string, int]{Limit: 4000})
		Fill(c, 4000)
		times := map[string]int{}
		for k := range c.All() {
			if times[k]++; len(times) > 1 {
				continue
			}
			for i := range 4000 {
				if i%100 != 0 {
					c.Del(strconv.Itoa(i))
				}
			}
		}
		for i := 0; i < 4000; i += 100 {
			if n := times[strconv.Itoa(i)]; n != 1 {
				t.Errorf("%d: yielded %d times, want once", i, n)
			}
		}
	})

	// Catches: a body that removes everything and meets stale entries.
	Bubble(t, "Clear in the body", func(t *testing.T) {
		c := New(t, cache.Options[string, int]{})
		Fill(c, 1000)
		n := 0
		for range c.All() {
			c.Clear()
			n++
		}
		if n > 1000 {
			t.Errorf("%d keys yielded of 1000", n)
		}
		WantLen(t, c, 0)
	})

	// Catches: a race between All and writers (-race), and stable keys lost beside them.
	t.Run("beside writers", func(t *testing.T) {
		c := New(t, cache.Options[string, int]{})
		stable := Numbered("stable", 500)
		for i, k := range stable {
			c.Set(k, i)
		}
		var stop atomic.Bool
		var writers sync.WaitGroup
		for g := range 3 {
			writers.Go(func() {
				for i := 0; !stop.Load(); i++ {
					c.Set(fmt.Sprint(g, i%2000), i)
					c.Del(fmt.Sprint(g, (i+1000)%2000))
				}
			})
		}
		for range Scaled(50) {
			seen := map[string]int{}
			for k := range c.All() {
				seen[k]++
			}
			for _, k := range stable {
				if seen[k] != 1 {
					t.Errorf("%s: yielded %d times, want once", k, seen[k])
				}
			}
		}
		stop.Store(true)
		writers.Wait()
	})
}

func TestClear(t *testing.T) {
	// Catches: entries, weight, expiry tasks or order links that survive a Clear.
	Bubble(t, "empties, reports and goes on", func(t *testing.T) {
		var rec Recorder[string, int]
		c := New(t, cache.Options[string, int]{Limit: 3, OnRemove: rec.Add})
		for round := range 5 {
			c.Set("a", round)
			c.SetWithExpire("b", round, time.Minute)
			c.Set("c", round)
			c.Clear()
			WantLen(t, c, 0)
			WantMiss(t, c, "a")
			WantEvents(t, &rec, Event("a", round, cache.Cleared), Event("b", round, cache.Cleared), Event("c", round, cache.Cleared))
		}
		c.SetWithExpire("b", 7, time.Hour) // the tasks of cleared entries must not remove it
		time.Sleep(2 * time.Minute)
		WantHit(t, c, "b", 7)
	})

	// Catches: Clear that leaves the weight behind, so that the cache fills up with nothing.
	Bubble(t, "gives the weight back", func(t *testing.T) {
		c := New(t, cache.Options[string, int]{MaxWeight: 10, Weigh: func(string, int) uint32 { return 10 }})
		c.Set("a", 1)
		c.Clear()
		if w := c.Stats().Weight; w != 0 {
			t.Errorf("weight %d after Clear, want 0", w)
		}
		c.Set("b", 2)
		WantHit(t, c, "b", 2)
	})

	// Catches: Clear that misses shards.
	Bubble(t, "all shards", func(t *testing.T) {
		c := New(t, cache.Options[string, int]{})
		Fill(c, 20_000)
		c.Clear()
		WantLen(t, c, 0)
		if n := len(Collect(t, c)); n != 0 {
			t.Errorf("%d entries left", n)
		}
	})
}

func TestGetOrSet(t *testing.T) {
	// Catches: a swapped result, a value replaced although present, an expired one taken for present.
	Bubble(t, "stores only what is absent", func(t *testing.T) {
		c := New(t, cache.Options[string, int]{Expire: time.Second})
		want := func(value, wantActual int, wantLoaded bool) {
			t.Helper()
			if v, loaded := c.GetOrSet("k", value); v != wantActual || loaded != wantLoaded {
				t.Errorf("GetOrSet(%d) = %d, %t; want %d, %t", value, v, loaded, wantActual, wantLoaded)
			}
		}
		want(1, 1, false)
		want(2, 1, true)
		time.Sleep(time.Second)
		want(3, 3, false)
		time.Sleep(time.Second - time.Nanosecond)
		want(4, 3, true)
		WantHit(t, c, "k", 3)
	})

	// Catches: two callers that both think they stored.
	t.Run("one winner", func(t *testing.T) {
		c := New(t, cache.Options[string, int]{})
		for _, key := range Numbered("k", Scaled(500)) {
			var winners atomic.Int32
			var actual [8]int
			Together(8, func(g int) {
				v, loaded := c.GetOrSet(key, g)
				actual[g] = v
				if !loaded {
					winners.Add(1)
				}
			})
			if winners.Load() != 1 || slices.Min(actual[:]) != slices.Max(actual[:]) {
				t.Fatalf("%s: %d winners, values %v", key, winners.Load(), actual)
			}
		}
	})
}

func TestCompute(t *testing.T) {
	// Catches: each operation doing what another should, or reporting what is not there.
	Bubble(t, "operations", func(t *testing.T) {
		var rec Recorder[string, int]
		c := New(t, cache.Options[string, int]{Expire: time.Minute, OnRemove: rec.Add})
		compute := func(op cache.Op, value, wantOld int, wantFound bool, want int, wantOK bool) {
			t.Helper()
			v, ok := c.Compute("k", func(old int, found bool) (int, cache.Op) {
				if old != wantOld || found != wantFound {
					t.Errorf("f got %d, %t; want %d, %t", old, found, wantOld, wantFound)
				}
				return value, op
			})
			if v != want || ok != wantOK {
				t.Errorf("Compute = %d, %t; want %d, %t", v, ok, want, wantOK)
			}
		}
		compute(cache.OpKeep, 9, 0, false, 0, false)
		compute(cache.OpDelete, 9, 0, false, 0, false)
		WantLen(t, c, 0)
		compute(cache.OpSet, 1, 0, false, 1, true)
		compute(cache.OpKeep, 9, 1, true, 1, true)
		WantEvents(t, &rec)
		compute(cache.OpSet, 2, 1, true, 2, true)
		WantEvents(t, &rec, Event("k", 1, cache.Replaced))
		compute(cache.OpDelete, 9, 2, true, 0, false)
		WantEvents(t, &rec, Event("k", 2, cache.Deleted))
		compute(cache.OpSet, 3, 0, false, 3, true)
		time.Sleep(time.Minute)
		compute(cache.OpSet, 4, 0, false, 4, true) // the expired 3 is not found
		WantEvents(t, &rec, Event("k", 3, cache.Expired))
		time.Sleep(time.Minute - time.Nanosecond)
		WantHit(t, c, "k", 4) // with the default TTL
		time.Sleep(time.Nanosecond)
		WantMiss(t, c, "k")
	})

	// Catches: OpKeep that restarts the TTL.
	Bubble(t, "OpKeep leaves the TTL alone", func(t *testing.T) {
		c := New(t, cache.Options[string, int]{Expire: time.Minute})
		c.SetWithExpire("k", 1, time.Second)
		time.Sleep(time.Second / 2)
		c.Compute("k", func(old int, _ bool) (int, cache.Op) { return old, cache.OpKeep })
		time.Sleep(time.Second / 2)
		WantMiss(t, c, "k")
	})

	// Catches: updates lost between reading the old value and storing the new one.
	t.Run("an atomic counter", func(t *testing.T) {
		c := New(t, cache.Options[string, int]{Expire: time.Hour})
		const goroutines, keys = 8, 3
		rounds := Scaled(5000)
		Together(goroutines, func(g int) {
			for i := range rounds {
				c.Compute(fmt.Sprint(i%keys), func(old int, _ bool) (int, cache.Op) { return old + 1, cache.OpSet })
			}
		})
		sum := 0
		for _, v := range Collect(t, c) {
			sum += v
		}
		if sum != goroutines*rounds {
			t.Errorf("counted %d, want %d", sum, goroutines*rounds)
		}
	})

	// Catches: f run under a lock (it hangs), and a result stored over what f itself changed.
	Bubble(t, "f may call the cache", func(t *testing.T) {
		c := New(t, cache.Options[string, int]{})
		c.Set("k", 1)
		runs := 0
		v, ok := c.Compute("k", func(old int, found bool) (int, cache.Op) {
			if runs++; runs == 1 {
				c.Set("other", 5)
				c.Set("k", 10) // changes the key: f must be run again with 10
			}
			return old + 1, cache.OpSet
		})
		if v != 11 || !ok || runs != 2 {
			t.Errorf("Compute = %d, %t after %d runs; want 11, true after 2", v, ok, runs)
		}
		WantHit(t, c, "k", 11)
	})

	// Catches: a panic of f that leaves a lock held or a half-made entry.
	Bubble(t, "f may panic", func(t *testing.T) {
		c := New(t, cache.Options[string, int]{})
		c.Set("k", 1)
		if got := Recovered(func() {
			c.Compute("k", func(int, bool) (int, cache.Op) { panic("boom") })
		}); got != "boom" {
			t.Errorf("recovered %v, want boom", got)
		}
		WantHit(t, c, "k", 1)
		c.Set("k", 2)
		WantHit(t, c, "k", 2)
	})
}
