package migration

import (
	"math"
	"sync"
	"testing"

	"github.com/pinwheel-cache/pinwheel/cache"
)

func TestSyncMapNaN(t *testing.T) {
	var m sync.Map
	m.Store(math.NaN(), 1)
	n := 0
	m.Range(func(any, any) bool { n++; return true })
	want(t, "sync.Map: entries with NaN as the key", n, 1)

	c := pinwheel(t, cache.Options[float64, int]{})
	c.Set(math.NaN(), 1)
	want(t, "ours: entries with NaN as the key", c.Len(), 0)
}

// The value that both return is the one stored, not a copy of what it points to.
func TestValuesAreShared(t *testing.T) {
	var m sync.Map
	m.Store("k", []int{1})
	stored, _ := m.Load("k")
	stored.([]int)[0] = 2
	stored, _ = m.Load("k")
	want(t, "sync.Map: after a change of the slice that Load returned", stored.([]int)[0], 2)

	c := pinwheel(t, cache.Options[string, []int]{})
	c.Set("k", []int{1})
	value(c.Get("k"))[0] = 2
	want(t, "ours: after a change of the slice that Get returned", value(c.Get("k"))[0], 2)
}

// Compute replaces Swap, CompareAndSwap, LoadAndDelete and CompareAndDelete.
func TestComputeAsCompareAndSwap(t *testing.T) {
	var m sync.Map
	c := pinwheel(t, cache.Options[string, int]{})
	swap := func(old, new int) (swapped bool) {
		c.Compute("k", func(v int, found bool) (int, cache.Op) {
			if swapped = found && v == old; swapped {
				return new, cache.OpSet
			}
			return 0, cache.OpKeep
		})
		return swapped
	}
	want(t, "CompareAndSwap of no entry", swap(0, 1), m.CompareAndSwap("k", 0, 1))
	m.Store("k", 1)
	c.Set("k", 1)
	want(t, "CompareAndSwap of another value", swap(7, 2), m.CompareAndSwap("k", 7, 2))
	want(t, "CompareAndSwap", swap(1, 2), m.CompareAndSwap("k", 1, 2))
	now, _ := m.Load("k")
	want(t, "value afterwards", value(c.Get("k")), now.(int))
}

// The function of Compute holds no lock, so that it may use the cache, and is
// called again if the key was changed meanwhile.
func TestComputeIsCalledAgain(t *testing.T) {
	c := pinwheel(t, cache.Options[string, int]{})
	calls := 0
	n, _ := c.Compute("k", func(n int, _ bool) (int, cache.Op) {
		if calls++; calls == 1 {
			c.Set("k", 10)
		}
		return n + 1, cache.OpSet
	})
	want(t, "value", n, 11)
	want(t, "calls", calls, 2)
}
