package main

import (
	"runtime"
	"slices"
	"time"

	"github.com/pinwheel-cache/pinwheel/bench/libs"
	"github.com/pinwheel-cache/pinwheel/bench/load"
)

// runMemory fills a cache with a million entries and measures their memory, a garbage collection, and
// the allocations of Sets that evict. Keys and values are made before and do not count.
func runMemory[K libs.Key, V any](l libs.Library, k kind[K, V], short bool) ([]figure, error) {
	n := million(short)
	entries := k.entries(0, 2*n+n/10)
	bytes, gc, goroutines := heapBytes(), collection(), runtime.NumGoroutine()
	cache := k.new(l)(libs.Config[K, V]{Capacity: n, TTL: time.Hour})
	if cache == nil {
		return nil, nil
	}
	held := fillUp(l, cache, entries, n)
	figures := []figure{
		{"B/entry", (heapBytes() - bytes) / float64(held)},
		{"GC ms", collection() - gc},
		{"goroutines", float64(runtime.NumGoroutine() - goroutines)},
		{"allocs/evicting Set", mallocs(n/10, func(i int) { cache.Set(entries.Keys[2*n+i], entries.Values[i]) })},
	}
	runtime.KeepAlive(entries)
	runtime.KeepAlive(cache)
	return figures, nil
}

// fillUp stores n entries and, if the library evicts, another n in their place. It returns
// how many there are then.
func fillUp[K libs.Key, V any](l libs.Library, cache libs.Cache[K, V], entries load.Entries[K, V], n int) int {
	sets := 2 * n
	if l.Unbounded {
		sets = n
	}
	for i, key := range entries.Keys[:sets] {
		cache.Set(key, entries.Values[i])
	}
	libs.Settle(cache)
	if c, ok := cache.(libs.Lener); ok {
		return c.Len()
	}
	return n
}

// heapBytes returns how many bytes are in use.
func heapBytes() float64 {
	runtime.GC()
	runtime.GC() // frees what finalizers have released after the first one
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// collection returns how many milliseconds a garbage collection takes.
func collection() float64 {
	took := make([]time.Duration, 7)
	for i := range took {
		began := time.Now()
		runtime.GC()
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	return float64(took[len(took)/2].Nanoseconds()) / 1e6
}

// mallocs returns the allocations of one of n operations, to a hundredth.
func mallocs(n int, op func(i int)) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range n {
		op(i)
	}
	runtime.ReadMemStats(&after)
	return float64((after.Mallocs-before.Mallocs)*100/uint64(n)) / 100
}
