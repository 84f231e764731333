// This file decides by limit and weights how many shards a cache needs, how many slots a shard, and how
// many slots its ring. table.go divides shards.

package cache

import (
	"math"
	"math/bits"
	"reflect"
	"runtime"
	"sync/atomic"
)

const (
	// fewestPerShard and mostPerShard bound entriesPerShard.
	fewestPerShard, mostPerShard = 512, 4096

	// shardsPerProc is enough that two writers seldom meet.
	shardsPerProc = 16

	// fullShard is about the most entries of a shard. So its arrays are copied in half a
	// millisecond when it grows, and its entries move to other shards in a millisecond.
	fullShard = 16384

	// enoughShards is the most shards of a cache with pointers, unless they would get more than
	// four times fullShard entries. The collector follows the pointers of one shard after the
	// other, but values that are neighbours in memory went to different shards. So the more
	// shards, the more often the collector waits for memory.
	enoughShards = 128
)

// sizing has the options and counts by which sizes are decided. It is safe for concurrent use.
type sizing[K comparable, V any] struct {
	limit  atomic.Int64      // Limit; 0 without one, or with MaxWeight
	crowd  atomic.Int64      // shards needed for the entries, without a limit of entries
	weigh  func(K, V) uint32 // nil if entries are counted
	budget budget            // what the entries may weigh
	counts *budget           // of a cache with both limits: how many entries there may be; else nil
	policy Policy            // of eviction
	traced bool              // keys or values have pointers, which the collector follows
}

func (z *sizing[K, V]) init(o Options[K, V]) {
	z.budget.max.Store(o.MaxWeight)
	if o.MaxWeight == 0 {
		z.limit.Store(int64(o.Limit))
		z.budget.max.Store(uint64(o.Limit))
	} else if o.Limit > 0 {
		z.counts = new(budget)
		z.counts.max.Store(uint64(o.Limit))
	}
	z.weigh, z.policy = o.Weigh, o.Policy
	z.traced = hasPointers(reflect.TypeFor[K]()) || hasPointers(reflect.TypeFor[V]())
}

func hasPointers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Array:
		return t.Len() > 0 && hasPointers(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if hasPointers(t.Field(i).Type) {
				return true
			}
		}
		return false
	}
	return t.Kind() > reflect.Array // kinds that have none come before it
}

// weightOf returns what a value weighs, at least 1: otherwise no MaxWeight would bound how many
// such values there are.
func (z *sizing[K, V]) weightOf(key K, value V) uint32 {
	if z.weigh == nil {
		return 1
	}
	return max(z.weigh(key, value), 1)
}

// tooHeavy reports whether a value with a weight cannot be stored at all.
func (z *sizing[K, V]) tooHeavy(weight uint32) bool {
	return z.weigh != nil && uint64(weight) > z.budget.max.Load()
}

// surplus returns what the budgets are overdrawn by, in weight or else in entries.
func (z *sizing[K, V]) surplus() uint64 {
	n := z.budget.surplus()
	if n == 0 && z.counts != nil {
		n = z.counts.surplus()
	}
	return n
}

// entriesPerShard returns the least part of the limit of a shard: the more processors, the
// smaller, as more of them meet in it. A cache with a lower limit has one shard, and so one
// exact order of eviction.
func entriesPerShard(procs int) uint64 {
	return uint64(max(fewestPerShard, min(mostPerShard, 2*mostPerShard/procs)))
}

// shardCount returns the number of shards, a power of two, for a limit of entries. Each gets
// at least part of the limit; a limit of 0 means none.
func shardCount(limit, part uint64, procs int) int {
	n := 1 << bits.Len(uint(shardsPerProc*procs-1))
	for n > 1 && limit > 0 && uint64(n)*part > limit {
		n /= 2
	}
	return n
}

// wanted returns how many shards the cache should have when it needs them.
func (z *sizing[K, V]) wanted() int {
	procs := runtime.GOMAXPROCS(0)
	if z.weigh != nil {
		return max(1, int(z.crowd.Load()))
	}
	limit := uint64(z.limit.Load())
	n := shardCount(limit, entriesPerShard(procs), procs)
	if limit == 0 {
		return max(n, int(z.crowd.Load()))
	}
	for limit > uint64(n)*uint64(z.fullSlots(n)) {
		n *= 2
	}
	return n
}

// fullSlots returns how many slots a shard has when it is crowded. A cache that weighs its
// values does not know how many entries it can have before it has them. Then it gets about as
// many shards as with a limit of so many entries.
func (z *sizing[K, V]) fullSlots(shards int) int {
	if z.traced && shards >= enoughShards {
		return 4 * fullShard
	}
	procs := runtime.GOMAXPROCS(0)
	if z.weigh != nil && shards < shardCount(0, 0, procs) {
		return int(min(fullShard, 4*entriesPerShard(procs)))
	}
	return fullShard
}

// crowds asks for a larger table, as a shard is about to have half of its fullSlots. It does nothing in
// a cache with a limit of entries, which has enough shards already.
func (c *common[K, V]) crowds() {
	if c.size.limit.Load() > 0 {
		return
	}
	t := c.table.Load()
	c.size.crowd.Store(int64(2 * len(t.shards)))
	t.growing.Store(true)
}

// expectedSlots returns how many entries a shard of a cache with a limit is expected to
// have at most: the mean and a standard deviation. A shard that gets more grows a little.
// It returns 0 if the number of entries has no limit.
func (z *sizing[K, V]) expectedSlots(shards int) int {
	limit := int(z.limit.Load())
	if shards == 1 {
		return limit
	}
	mean := float64(limit) / float64(shards)
	return int(mean + math.Sqrt(mean))
}

// roomForMore returns how many entries more than n a cache that weighs its values has room for, if
// new ones weigh as much as the present ones. It is at least n while half of the budget is
// left.
func (z *sizing[K, V]) roomForMore(n int) int {
	most, used := z.budget.max.Load(), z.budget.used.Load()
	if used <= most/2 {
		return n
	}
	return int(float64(n) * float64(most-min(used, most)) / float64(used))
}

const (
	// ringOfMany is the slots to a level in the ring of a shard: 4 KiB with both levels. A
	// revolution takes five times the shortest TTL of the options if that is from 1 to 100 s.
	ringOfMany = 512

	// ringOfFew is for a shard with fewer than fewEntries entries, where memory matters
	// more than a few more visits of each entry. A TTL of the options fits, as it is a
	// hundred ticks. If it is longer than 100 s, two visits are enough up to four hours.
	ringOfFew  = 128
	fewEntries = mostPerShard
)

// ringSlots returns the slots to a level in the ring of a shard, of so many shards.
func (z *sizing[K, V]) ringSlots(shards int) int {
	if limit := int(z.limit.Load()); shards == 1 || limit > 0 && limit/shards < fewEntries {
		return ringOfFew
	}
	return ringOfMany
}
