package hotkeys

import "testing"

// FuzzHotKeys counts keys: of each two bytes the first is a key, or with 128 and more
// the first of a row of new ones, and the second how often it comes, or how many they
// are; with 0 the counts are halved. It checks the guarantees as TestGuarantees does, up
// to the first halving, and after it the invariants.
func FuzzHotKeys(f *testing.F) {
	f.Add(byte(1), []byte{1, 200, 2, 100, 128, 255, 1, 3})
	f.Add(byte(1), []byte{1, 200, 0, 0, 1, 3})
	f.Fuzz(func(t *testing.T, keys byte, stream []byte) {
		s := New[int](int(keys%40) + 1)
		truth := map[int]uint64{}
		counted, halved := uint64(0), false
		count := func(key int) {
			s.count(key, 1)
			truth[key]++
			counted++
		}
		fresh := 1000
		for ; len(stream) >= 2 && counted < 4*many; stream = stream[2:] {
			if stream[1] == 0 {
				s.halve(s.halved.Add(halfLife))
				halved = true
			}
			for range stream[1] {
				if stream[0] < 128 {
					count(int(stream[0]))
				} else {
					fresh++
					count(fresh)
				}
			}
		}
		checkSketch(t, s)
		if !halved {
			checkCounts(t, s, truth, counted)
		}
	})
}

// checkSketch: the invariants hold, and the shares are in order, and not more than all together.
func checkSketch[K comparable](t *testing.T, s *Sketch[K]) {
	t.Helper()
	if err := s.check(); err != nil {
		t.Fatal(err)
	}
	top, sum := s.Top(), 0.0
	for i, k := range top {
		if k.Share <= 0 || i > 0 && k.Share > top[i-1].Share {
			t.Fatalf("number %d has share %v, after %v", i, k.Share, top[:i])
		}
		sum += k.Share
	}
	if sum > 1+1e-9 || len(top) > s.keys {
		t.Fatalf("%d keys of %d with %v of all", len(top), s.keys, sum)
	}
}

// checkCounts: a key with more than its part has a counter, and no count is too low, nor too
// high by more than the least.
func checkCounts[K comparable](t *testing.T, s *Sketch[K], truth map[K]uint64, counted uint64) {
	t.Helper()
	counters := uint64(cap(s.counters))
	for key, want := range truth {
		switch c := s.byKey[key]; {
		case c == nil && want*counters > counted:
			t.Fatalf("%d of %d were %v, which has no counter", want, counted, key)
		case c != nil && (c.count < want || c.count-c.over > want || c.over*counters > counted):
			t.Fatalf("%v came %d times of %d, counted from %d to %d", key, want, counted, c.count-c.over, c.count)
		}
	}
}
