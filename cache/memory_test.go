package cache

import (
	"runtime"
	"testing"
	"time"
)

// TestSmallCaches: an empty cache takes at most 4 KB and one with ten entries, which are
// read often, at most 6 KB, whatever their limit and at any number of processors.
func TestSmallCaches(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	const caches = 200
	for _, procs := range []int{1, 2, 8, 64} {
		runtime.GOMAXPROCS(procs)
		for _, o := range []Options[uint64, uint64]{
			{},
			{Expire: time.Hour},
			{Limit: 1000, Expire: time.Hour},
			{Limit: 1 << 20, Expire: 5 * time.Minute},
		} {
			for entries, most := range map[uint64]uint64{0: 4 << 10, 10: 6 << 10} {
				before := heapInUse()
				all := make([]*Cache[uint64, uint64], caches)
				for i := range all {
					all[i] = Must(o)
					for k := range entries {
						all[i].Set(k, k)
						for range 20 {
							all[i].Get(k)
						}
					}
				}
				if each := (heapInUse() - before) / caches; each > most {
					t.Errorf("%d processors, limit %d, TTL %v: %d bytes for %d entries, want at most %d", procs, o.Limit, o.Expire, each, entries, most)
				}
				runtime.KeepAlive(all)
			}
		}
	}
}

// heapInUse returns the bytes of all objects that are still needed.
func heapInUse() uint64 {
	runtime.GC()
	runtime.GC() // what the first one has found to be finalized
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
