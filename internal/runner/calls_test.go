package runner

import (
	"slices"
	"testing"
)

// TestCalls: keys that share a bucket are found, and end in any order; nodes are used again.
func TestCalls(t *testing.T) {
	c := newCalls[int](4)
	keys := []uint64{3, 7, 11, 4}
	for _, ended := range keys {
		for _, key := range keys {
			c.begin(key)
		}
		c.end(ended)
		var left []uint64
		for call := range c.all() {
			left = append(left, call.order)
		}
		slices.Sort(left)
		want := slices.DeleteFunc(slices.Sorted(slices.Values(keys)), func(key uint64) bool { return key == ended })
		if !slices.Equal(left, want) || c.len != len(want) || c.find(ended) != nil || c.find(99) != nil {
			t.Errorf("after %d ended: %v, len %d; want %v", ended, left, c.len, want)
		}
		for _, key := range want {
			if c.find(key).order != key {
				t.Errorf("after %d ended: %d is not found", ended, key)
			}
			c.end(key)
		}
	}
	if n := testing.AllocsPerRun(100, func() { c.begin(1); c.end(1) }); n != 0 {
		t.Errorf("%v allocations for a call after others", n)
	}
}

// TestCallsAreSmall: there is a bucket for each worker, but not for thousands.
func TestCallsAreSmall(t *testing.T) {
	for limit, want := range map[int]int{1: 1, 2: 2, 3: 4, 16: 16, 256: 256, 257: 256, 1 << 30: 256} {
		if c := newCalls[int](limit); len(c.buckets) != want {
			t.Errorf("%d buckets for %d workers, want %d", len(c.buckets), limit, want)
		}
	}
}
