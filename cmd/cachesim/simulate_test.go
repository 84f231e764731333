package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"pgregory.net/rapid"
)

// replayLRU returns the hits of the library's cache.
func replayLRU(t rapid.TB, tr *trace, limit int) int {
	t.Helper()
	c, err := simulateCache(tr, cache.LRU, uint64(limit), false, tr.ttls != nil)
	if err != nil {
		t.Fatal(err)
	}
	return int(c.hits)
}

// secondChance is a plain implementation of the algorithm of package lru.
func secondChance(keys []int, limit int) (hits int) {
	type entry struct{ key, mark int }
	var queue []entry // oldest first
	for _, key := range keys {
		if i := slices.IndexFunc(queue, func(e entry) bool { return e.key == key }); i >= 0 {
			hits++
			queue[i].mark = min(queue[i].mark+1, 3)
			continue
		}
		if len(queue) == limit {
			for range 128 {
				oldest := queue[0]
				if oldest.mark == 0 {
					break
				}
				queue = append(queue[1:], entry{oldest.key, oldest.mark - 1})
			}
			queue = queue[1:]
		}
		queue = append(queue, entry{key: key})
	}
	return hits
}

func TestTheCacheIsSecondChance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfN(rapid.IntRange(0, 20), 1, 300).Draw(t, "keys")
		limit := rapid.IntRange(1, 15).Draw(t, "limit")
		if got, want := replayLRU(t, traceOf(keys), limit), secondChance(keys, limit); got != want {
			t.Fatalf("%d hits, want %d", got, want)
		}
	})
}

// stackDistances returns for each access how many different keys there were since the
// last access to its key, itself included, or 0 if it is the first (Mattson, Gecsei,
// Slutz and Traiger, 1970). A textbook LRU hits if that is at most its limit.
func stackDistances(keys []int) []int {
	var stack []int // most recent last
	distances := make([]int, len(keys))
	for i, key := range keys {
		if k := slices.Index(stack, key); k >= 0 {
			distances[i] = len(stack) - k
			stack = slices.Delete(stack, k, k+1)
		}
		stack = append(stack, key)
	}
	return distances
}

// loop returns n accesses to a number of keys, by turns.
func loop(n, keys int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i % keys
	}
	return all
}

// zipf returns n accesses to a number of keys, by a Zipf distribution.
func zipf(n, keys int, s float64, seed uint64) []int {
	random := rand.New(rand.NewPCG(seed, 1))
	z := rand.NewZipf(random, s, 1, uint64(keys-1))
	all := make([]int, n)
	for i := range all {
		all[i] = int(z.Uint64())
	}
	return all
}

// The cache's LRU with marks is close to the textbook's, mostly above it, and equal to it
// where marks make no difference: in loops, and where everything fits.
func TestTheCacheAgainstStackDistances(t *testing.T) {
	for name, test := range map[string]struct {
		keys   []int
		within float64 // points
	}{
		"zipf":         {zipf(20_000, 2000, 1.1, 1), 4.5},
		"zipf, steep":  {zipf(20_000, 2000, 1.5, 2), 4.5},
		"loop of 100":  {loop(3000, 100), 0},
		"all the same": {make([]int, 1000), 0},
	} {
		distances := stackDistances(test.keys)
		for _, limit := range []int{1, 10, 50, 99, 100, 101, 500, 2000} {
			want := 0
			for _, d := range distances {
				if 0 < d && d <= limit {
					want++
				}
			}
			got := replayLRU(t, traceOf(test.keys), limit)
			if limit == 2000 && got != want {
				t.Errorf("%s: with room for all, %d hits, want %d", name, got, want)
			}
			if off := 100 * math.Abs(float64(got-want)) / float64(len(test.keys)); off > test.within {
				t.Errorf("%s, limit %d: %d hits, by stack distances %d: %.1f points, want at most %v", name, limit, got, want, off, test.within)
			}
		}
	}
}

// A player expires exactly what the model does, which compares the deadline at each access.
func TestTheCacheKeepsTTLs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := newTrace(1<<30, 1<<30)
		now, hits := time.Duration(0), uint64(0)
		deadlines := map[int]time.Duration{}
		for range rapid.IntRange(1, 200).Draw(t, "accesses") {
			now += time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms")) * time.Millisecond
			key := rapid.IntRange(0, 5).Draw(t, "key")
			ttl := time.Duration(rapid.IntRange(0, 20_000).Draw(t, "ttl")) * time.Millisecond
			tr.add(access{key: spread(uint64(key)), at: now, ttl: ttl})
			if d, ok := deadlines[key]; ok && d > now {
				hits++
				continue
			}
			deadlines[key] = deadline(now, ttl)
		}
		got, err := simulateCache(tr, cache.LRU, 0, false, true)
		if err != nil || got.hits != hits {
			t.Fatalf("%d hits (%v), want %d", got.hits, err, hits)
		}
		if best := simulateMin(tr, 10, true); best.hits != hits {
			t.Fatalf("MIN with room for all has %d hits, want %d", best.hits, hits)
		}
	})
}

// An expired entry frees its room, as in a cache.
func TestExpiredEntriesMakeRoom(t *testing.T) {
	tr := newTrace(1<<30, 1<<30)
	tr.add(access{key: 1, ttl: time.Hour})
	tr.add(access{key: 2, ttl: time.Second})
	tr.add(access{key: 3, at: 2 * time.Second, ttl: time.Hour}) // instead of 2
	tr.add(access{key: 1, at: 3 * time.Second})
	if hits := replayLRU(t, tr, 2); hits != 1 {
		t.Errorf("%d hits, want 1: the second entry had expired", hits)
	}
}

func TestLimitsOfBytes(t *testing.T) {
	tr := newTrace(1<<30, 1<<30)
	for _, key := range []uint64{1, 2, 1, 2, 3, 3} { // 1 and 2 do not fit together
		tr.add(access{key: key, size: map[uint64]uint32{1: 600, 2: 600, 3: 400}[key]})
	}
	c, err := simulateCache(tr, cache.LRU, 1000, true, false)
	if err != nil || c != (counts{gets: 6, hits: 1, bytes: 3200, bytesInHits: 400}) {
		t.Errorf("%+v (%v), want one hit, of 400 bytes", c, err)
	}
}
