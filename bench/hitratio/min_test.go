package main

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestMinHits compares the optimum with the best of all possible choices.
func TestMinHits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		keys := make([]uint64, 12)
		for i := range keys {
			keys[i] = r.Uint64N(5)
		}
		capacity := 1 + r.IntN(3)
		if got, want := minHits(keys, capacity), bestHits(keys, capacity, nil); got != want {
			t.Fatalf("%v with %d entries: %d hits, want %d", keys, capacity, got, want)
		}
	}
}

// bestHits tries all ways to keep keys.
func bestHits(keys []uint64, capacity int, kept []uint64) (most int) {
	if len(keys) == 0 {
		return 0
	}
	key, rest := keys[0], keys[1:]
	if slices.Contains(kept, key) {
		return 1 + bestHits(rest, capacity, kept)
	}
	most = bestHits(rest, capacity, kept) // not stored
	if len(kept) < capacity {
		return max(most, bestHits(rest, capacity, append(kept[:len(kept):len(kept)], key)))
	}
	for i := range kept {
		most = max(most, bestHits(rest, capacity, slices.Concat([]uint64{key}, kept[:i], kept[i+1:])))
	}
	return most
}

// TestContenders: every contender finds the key that it has just stored, and ends.
func TestContenders(t *testing.T) {
	for _, who := range contenders {
		access, end := who.open(capacity{entries: 1000})
		hits := 0
		for i := range uint64(2000) {
			if access(mix(i%10), 1) {
				hits++
			}
		}
		end()
		if hits < 1900 {
			t.Errorf("%s: %d of 1990 gets of ten keys are hits", who.name, hits)
		}
	}
}
