package cache_test

import (
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// TestEntryIsHowFresh checks what Entry, Entries and Stale say of a value when it is fresh, due, in Grace
// and gone.
func TestEntryIsHowFresh(t *testing.T) {
	freshTest(t, func(t *testing.T, c *freshCache) {
		start := time.Now()
		c.take(1)
		c.db.fails = errDown
		for _, at := range []struct {
			after        time.Duration
			due, inGrace bool
		}{{after: 0}, {after: 30*time.Second - time.Millisecond}, {after: 30 * time.Second, due: true}, {after: time.Minute, due: true, inGrace: true}, {after: 2*time.Minute - 1, due: true, inGrace: true}} {
			time.Sleep(time.Until(start.Add(at.after)))
			stale, found := c.Stale("k")
			if !found || stale.Value != 1 || stale.Due != at.due || stale.InGrace != at.inGrace || stale.TTL != time.Minute-at.after {
				t.Errorf("after %v: %+v, %t", at.after, stale, found)
			}
			if off := stale.Age - at.after; off < -17*time.Millisecond || off > 17*time.Millisecond {
				t.Errorf("after %v the age is %v", at.after, stale.Age)
			}
			e, ok := c.Entry("k")
			all := slices.Collect(c.Entries())
			if ok == at.inGrace || ok && (e != stale || len(all) != 1 || all[0] != stale) || !ok && len(all) > 0 {
				t.Errorf("after %v: Entry %+v, %t, and Entries %+v", at.after, e, ok, all)
			}
		}
		c.asked(1)
		time.Sleep(time.Nanosecond)
		if e, ok := c.Stale("k"); ok {
			t.Errorf("after Grace: %+v", e)
		}
		if s := c.Stats(); s.Gets() != 1 {
			t.Errorf("%d gets are counted", s.Gets())
		}
	}, func(o *cache.Options[string, int]) { o.Ages = true })
	c := cache.Must(cache.Options[string, int]{Refresh: 0.5, Grace: time.Hour})
	c.Set("k", 1)
	if e, ok := c.Entry("k"); e.Age != -1 || e.Due || e.InGrace || e.TTL < 1<<62 || !ok {
		t.Errorf("without Ages and a TTL: %+v", e)
	}
}

// TestEntryWhileRenewed checks that a value is due while its renewal is under way.
func TestEntryWhileRenewed(t *testing.T) {
	agedTest(t, 40*time.Second, func(t *testing.T, c *freshCache) {
		c.db.takes = time.Second
		if v, err := c.TakeCtx(t.Context(), "k", c.db.fetch); v != 1 || err != nil {
			t.Errorf("TakeCtx = %d, %v", v, err)
		}
		synctest.Wait()
		if e, _ := c.Entry("k"); !e.Due || e.InGrace {
			t.Errorf("%+v", e)
		}
		time.Sleep(time.Second)
	})
}

// TestManyKeys checks GetMany and DelMany.
func TestManyKeys(t *testing.T) {
	c := cache.Must(cache.Options[int, int]{})
	for i := range 4 {
		c.Set(i, 10*i)
	}
	if got := c.GetMany([]int{1, 7, 3, 1}); !maps.Equal(got, map[int]int{1: 10, 3: 30}) {
		t.Errorf("GetMany = %v", got)
	}
	if s := c.Stats(); s.Hits != 3 || s.Misses != 1 {
		t.Errorf("%d hits, %d misses", s.Hits, s.Misses)
	}
	if n := c.DelMany(0, 7, 3, 0); n != 2 || c.Len() != 2 || c.DelMany() != 0 {
		t.Errorf("DelMany removes %d, %d are left", n, c.Len())
	}
}

// TestLimits checks that Limit returns what Resize has set.
func TestLimits(t *testing.T) {
	c := cache.Must(cache.Options[int, int]{Limit: 10})
	heavy := cache.Must(cache.Options[int, int]{MaxWeight: 20, Weigh: func(int, int) uint32 { return 1 }})
	want := func(c *cache.Cache[int, int], entries int, weight uint64) {
		t.Helper()
		if n, w := c.Limit(); n != entries || w != weight {
			t.Errorf("Limit = %d, %d; want %d, %d", n, w, entries, weight)
		}
	}
	want(c, 10, 0)
	want(heavy, 0, 20)
	_, _ = c.Resize(0), heavy.ResizeWeight(7)
	want(c, 0, 0)
	want(heavy, 0, 7)
}

// TestColdest checks that Coldest yields the entries in the order in which LRU evicts them, and Hottest in
// the other one; and that a loop over Coldest may end early and use the cache.
func TestColdest(t *testing.T) {
	for _, policy := range []cache.Policy{cache.LRU, cache.Adaptive} {
		var evicted []int
		c := cache.Must(cache.Options[int, int]{Limit: 200, Policy: policy, OnRemove: func(e cache.Event[int, int]) { evicted = append(evicted, e.Key) }, Workers: 1})
		for i := range 200 {
			c.Set(i, i)
			if i%3 == 0 {
				c.Get(i)
			}
		}
		var coldest, hottest []int
		for k, v := range c.Coldest() {
			if k != v {
				t.Errorf("%d has the value %d", k, v)
			}
			coldest = append(coldest, k)
		}
		for k := range c.Hottest() {
			hottest = append(hottest, k)
		}
		slices.Reverse(hottest)
		if len(coldest) != 200 || !slices.Equal(coldest, hottest) {
			t.Errorf("%v: %d entries from the coldest, %d from the hottest on, in other orders", policy, len(coldest), len(hottest))
		}
		for k := range c.Coldest() {
			c.Del(k)
			break
		}
		if c.Pinned() {
			t.Error("a loop that ended early leaves a shard pinned")
		}
		c.Set(coldest[0], 0)
		if policy == cache.LRU {
			for i := range 100 {
				c.Set(1000+i, i)
			}
			cache.MustClose(t, c)
			if want := coldest[1:101]; !slices.Equal(evicted[1:101], want) {
				t.Errorf("evicted %v, want %v", evicted[1:101], want)
			}
		}
	}
}
