//go:build !race

// The race detector allocates too, which cannot be told apart here.

package ring

import "testing"

// TestRingAllocations counts the allocations of Set, Remove and Advance.
func TestRingAllocations(t *testing.T) {
	const n = 1000
	r, k := ringAt(512, n, 0), int64(0)
	again := func(uint32) int64 { return 7 }
	if allocs := testing.AllocsPerRun(2000, func() {
		k++
		r.Set(uint32(k%n), r.Now()+k%900)
		r.Remove(uint32(k * 7 % n))
		r.Advance(r.Now()+1, 10, again)
	}); allocs > 0 {
		t.Errorf("%v allocations, want none", allocs)
	}
}
