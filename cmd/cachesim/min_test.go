package main

import (
	"math/bits"
	"testing"

	"pgregory.net/rapid"
)

// traceOf returns the trace of reads of keys, by number.
func traceOf[K ~int | ~uint32](keys []K) *trace {
	t := newTrace(1<<30, 1<<30)
	for _, key := range keys {
		t.add(access{key: spread(uint64(key))})
	}
	return t
}

// bestHits returns the most hits that any cache can have. It tries everything: after each
// access, to store the key or not, and to evict any entry.
func bestHits(keys []int, limit int) int {
	type state struct {
		at   int
		have uint32
	}
	known := map[state]int{}
	var best func(s state) int
	best = func(s state) int {
		if s.at == len(keys) {
			return 0
		}
		if n, ok := known[s]; ok {
			return n
		}
		key := uint32(1) << keys[s.at]
		most := 0
		if s.have&key != 0 {
			most = 1 + best(state{s.at + 1, s.have})
		} else {
			most = best(state{s.at + 1, s.have})
			if bits.OnesCount32(s.have) < limit {
				most = max(most, best(state{s.at + 1, s.have | key}))
			}
			for victim := uint32(1); victim != 0 && victim <= s.have; victim <<= 1 {
				if s.have&victim != 0 {
					most = max(most, best(state{s.at + 1, s.have&^victim | key}))
				}
			}
		}
		known[s] = most
		return most
	}
	return best(state{})
}

func TestMinIsTheOptimum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfN(rapid.IntRange(0, 6), 1, 30).Draw(t, "keys")
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		got := simulateMin(traceOf(keys), limit, false)
		if want := bestHits(keys, limit); int(got.hits) != want || int(got.gets) != len(keys) {
			t.Fatalf("MIN hits %d of %d, want %d of %d", got.hits, got.gets, want, len(keys))
		}
	})
}

// A set of moments behaves like a map.
func TestMoments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 10_000).Draw(t, "size")
		m, want := newMoments(size), map[int]bool{}
		for _, i := range rapid.SliceOf(rapid.IntRange(0, size-1)).Draw(t, "changed") {
			if want[i] {
				m.remove(i)
				delete(want, i)
			} else {
				m.add(i)
				want[i] = true
			}
			last := -1
			for k := range want {
				if !m.has(k) {
					t.Fatalf("%d is missing", k)
				}
				last = max(last, k)
			}
			if m.has(i) != want[i] {
				t.Fatalf("has(%d) is %v", i, m.has(i))
			}
			if last >= 0 && m.last() != last {
				t.Fatalf("last is %d, want %d", m.last(), last)
			}
		}
	})
}
