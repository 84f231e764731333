package acceptance

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/lru"
)

// Promise 2: after Set returns, Get sees it, and Len never exceeds the limit, nor
// the weight MaxWeight.
func TestPromise2SynchronousAndBounded(t *testing.T) {
	for _, limit := range []int{1, 2, 3, 50, 1000, 4095, 4097, 10_000} {
		// Catches: writes that are queued or dropped; a new entry that is its own victim; limits of
		// shards that do not add up; eviction before the limit is reached. Other methods, and a cache
		// without a limit, are cache.TestModel and cache.TestSimpleModel.
		Bubble(t, fmt.Sprintf("limit %d", limit), func(t *testing.T) { setThenGet(t, limit) })
	}

	BubbleCheck(t, "eviction order", evictionOrder)

	for _, limit := range []int{1, 100, 10_000} {
		// Catches: an entry linked before its victim is unlinked; a limit checked outside the lock.
		// When it gets the limit by Resize: a sum over many shards that counts what moves between them twice.
		for how, first := range map[string]int{"limit": limit, "resized to": 0} {
			t.Run(fmt.Sprintf("Len while 8 goroutines write, %s %d", how, limit), func(t *testing.T) {
				c := New(t, cache.Options[int, int]{Limit: first})
				MustResize(t, c, limit)
				writeAndWatch(t, c, limit)
				WantLen(t, c, limit)
			})
		}
	}

	// Catches: weight reserved after the fact, or per shard and summed too late.
	t.Run("weight while 8 goroutines write", func(t *testing.T) {
		const most = 1000
		c := New(t, cache.Options[int, int]{MaxWeight: most, Weigh: func(k, v int) uint32 { return uint32(v % 100) }})
		writeAndWatch(t, c, 0)
		WantWeightOfContents(t, c, func(v int) uint64 { return uint64(max(v%100, 1)) })
	})

	Bubble(t, "Weigh panics", weighPanics)
	BubbleCheck(t, "evicted weight", evictedWeight)
}

func setThenGet(t *testing.T, limit int) {
	c := New(t, cache.Options[int, int]{Limit: limit})
	for i := range 10 * limit {
		c.Set(i, i)
		WantHit(t, c, i, i)
		if n := c.Len(); n > limit || i < limit && limit < 4096 && n != i+1 { // one shard: nothing is evicted before it is full
			t.Fatalf("Len = %d after %d keys", n, i+1)
		}
	}
	WantLen(t, c, limit)
}

// An orderModel is one shard: the order of package lru, whose slots are the keys here, and the
// values. Package eviction compares that order with a naive one.
type orderModel struct {
	*lru.Order
	limit  int
	values map[int]int
}

// leave removes a value and returns its event.
func (m *orderModel) leave(key int, cause cache.Cause) cache.Event[int, int] {
	value := m.values[key]
	delete(m.values, key)
	return cache.Event[int, int]{Key: key, Value: value, Cause: cause}
}

// evictTo leaves n entries and returns the events of the others.
func (m *orderModel) evictTo(n int) (events []cache.Event[int, int]) {
	for m.Len() > n {
		slot, _ := m.Evict()
		events = append(events, m.leave(int(slot), cache.Evicted))
	}
	return events
}

// Catches: any order but that of package lru (a mark that survives Del and reuse of its slot, a mark
// that is not taken back, Peek that marks, a Set or Touch of a present key that does not, a victim
// other than the oldest without a mark, also of Resize, which leaves nothing to later Sets).
func evictionOrder(rt *rapid.T) {
	// With 3 marks on each of 42 entries an eviction passes at most 126 times, below the
	// bound on passes.
	limit := rapid.IntRange(1, 42).Draw(rt, "limit")
	ops := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) int {
		return rapid.IntRange(-1, 8*2*limit-1).Draw(t, "op") // -1: nothing
	}), 6*limit, 8*limit+50).Draw(rt, "ops")
	rapid.SyncTest(rt, func(rt *rapid.T) {
		var rec Recorder[int, int]
		c := New(rt, cache.Options[int, int]{Limit: limit, Workers: 1, OnRemove: rec.Add})
		m := orderModel{lru.New(2 * limit), limit, map[int]int{}}
		for n, op := range ops {
			if op < 0 {
				continue
			}
			key := op / 8
			want := evictionStep(rt, c, &m, n, op%8, key)
			if got := rec.Take(); !slices.Equal(got, want) {
				rt.Fatalf("op %d on key %d: events %v, want %v", n, key, got, want)
			}
			if c.Len() != m.Len() {
				rt.Fatalf("op %d: Len = %d, want %d", n, c.Len(), m.Len())
			}
		}
	})
}

// evictionStep does one operation on the cache and the model and returns the events that the
// model expects.
func evictionStep(rt *rapid.T, c *cache.Cache[int, int], m *orderModel, n, kind, key int) (want []cache.Event[int, int]) {
	_, there := m.values[key]
	use := func() {
		if there {
			m.Mark(uint32(key))
		}
	}
	store := func() {
		if use(); there {
			want = append(want, m.leave(key, cache.Replaced))
		} else {
			want = m.evictTo(m.limit - 1)
			m.Insert(uint32(key))
		}
		m.values[key] = n
	}
	switch {
	case kind == 7 && n%4 == 0:
		m.limit = 1 + key/2
		want = m.evictTo(m.limit)
		MustResize(rt, c, m.limit)
	case kind == 6:
		if c.Touch(key, time.Hour) != there {
			rt.Fatalf("op %d: Touch(%d) = %t", n, key, !there)
		}
		use()
	case kind <= 1 || kind == 7:
		store()
		c.Set(key, n)
	case kind == 2 && !there:
		store()
		if v, err := c.Take(key, func() (int, error) { return n, nil }); v != n || err != nil {
			rt.Fatalf("op %d: Take = %d, %v", n, v, err)
		}
	case kind <= 3:
		if _, ok := c.Get(key); ok != there {
			rt.Fatalf("op %d: Get(%d) = %t, want %t", n, key, ok, there)
		}
		use()
	case kind == 4:
		if _, ok := c.Peek(key); ok != there {
			rt.Fatalf("op %d: Peek(%d) = %t, want %t", n, key, ok, there)
		}
	default:
		if c.Del(key) != there {
			rt.Fatalf("op %d: Del(%d) = %t", n, key, !there)
		}
		if there {
			want = append(want, m.leave(key, cache.Deleted))
			m.Remove(uint32(key))
		}
	}
	return want
}

// writeAndWatch runs 8 writers that use every storing method, and checks Len and the weight
// meanwhile. A limit of 0 means none.
func writeAndWatch(t *testing.T, c *cache.Cache[int, int], limit int) {
	t.Helper()
	stop := Meanwhile(t, func() {
		if n := c.Len(); limit > 0 && n > limit {
			t.Errorf("Len = %d above the limit of %d", n, limit)
		}
		if s := c.Stats(); s.Weight > s.MaxWeight {
			t.Errorf("weight %d above the limit of %d", s.Weight, s.MaxWeight)
		}
	})
	rounds := Scaled(10_000)
	Together(8, func(g int) {
		for i := range rounds {
			key, value := (g*7919+i*31)%20_011, i
			switch i % 8 {
			case 0:
				c.GetOrSet(key, value)
			case 1:
				_, _ = c.Take(key, func() (int, error) { return value, nil })
			case 2:
				c.Compute(key, func(int, bool) (int, cache.Op) { return value, cache.OpSet })
			case 3:
				c.SetWithExpire(key, value, time.Hour)
			case 4:
				c.Del((key + 13) % 20_011) // so that room appears in other shards
			default:
				c.Set(key, value)
			}
		}
	})
	if limit > 0 {
		for key := range 3 * limit { // full again
			c.Set(key, key)
		}
	}
	stop()
}

// Catches: Weigh called under a lock, or after the entry was half stored.
func weighPanics(t *testing.T) {
	c := New(t, cache.Options[string, int]{MaxWeight: 10, Weigh: func(_ string, v int) uint32 {
		if v < 0 {
			panic("negative")
		}
		return uint32(v)
	}})
	c.Set("k", 5)
	for _, key := range []string{"k", "new"} {
		if got := Recovered(func() { c.Set(key, -1) }); got != "negative" {
			t.Errorf("recovered %v, want the panic of Weigh", got)
		}
	}
	WantHit(t, c, "k", 5)
	WantMiss(t, c, "new")
	c.Set("k", 6)
	WantHit(t, c, "k", 6)
}

// Catches: more evicted than needed, or anything for a value that is too heavy. The rest is
// cache.TestModel.
func evictedWeight(rt *rapid.T) {
	const most = 100
	weights := rapid.SliceOfN(rapid.IntRange(1, most+10), 50, 200).Draw(rt, "weights")
	keys := rapid.SliceOfN(rapid.IntRange(0, 19), len(weights), len(weights)).Draw(rt, "keys")
	rapid.SyncTest(rt, func(rt *rapid.T) {
		var rec Recorder[int, int]
		c := New(rt, cache.Options[int, int]{
			MaxWeight: most, Weigh: func(_, v int) uint32 { return uint32(v) }, OnRemove: rec.Add,
		})
		for i, key := range keys {
			old, _ := c.Peek(key)
			surplus := int(c.Stats().Weight) - old + weights[i] - most
			c.Set(key, weights[i])
			evicted, heaviest := 0, 0
			for _, e := range rec.Take() {
				if e.Key != key {
					evicted, heaviest = evicted+e.Value, max(heaviest, e.Value)
				}
			}
			if evicted > 0 && (weights[i] > most || evicted-heaviest >= surplus) {
				rt.Fatalf("Set %d of weight %d: evicted a weight of %d for %d", i, weights[i], evicted, surplus)
			}
		}
	})
}
