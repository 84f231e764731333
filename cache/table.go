package cache

import (
	"math/bits"
	"runtime"
	"sync/atomic"

	"github.com/pinwheel-cache/pinwheel/internal/biased"
	"github.com/pinwheel-cache/pinwheel/internal/index"
)

// A table has the shards of a cache. The first one has a single shard, so that a small
// cache takes little memory. When a shard has many entries, or writers often wait for it,
// a larger table follows: see enlarge.
type table[K comparable, V any] struct {
	shards  []shard[K, V] // a power of two of them
	growing atomic.Bool   // the cache may need more shards: see wanted

	// larger is the table that follows, while entries move to it, shard by shard; divided is
	// the number of shards that have moved. shape guards both.
	larger  atomic.Pointer[table[K, V]]
	divided int
}

const (
	// fewestPerShard and mostPerShard bound entriesPerShard.
	fewestPerShard, mostPerShard = 512, 4096

	// shardsPerProc is enough that two writers seldom meet.
	shardsPerProc = 16

	// fullShard is about the most entries of a shard. So its arrays are copied in half a
	// millisecond when it grows, and its entries move to other shards in one.
	fullShard = 16384
)

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
func (c *common[K, V]) wanted() int {
	procs := runtime.GOMAXPROCS(0)
	if c.weigh != nil {
		return max(1, int(c.crowd.Load()))
	}
	limit := uint64(c.limit.Load())
	n := shardCount(limit, entriesPerShard(procs), procs)
	if limit == 0 {
		return max(n, int(c.crowd.Load()))
	}
	for limit > uint64(n)*fullShard {
		n *= 2
	}
	return n
}

// fullSlots returns how many slots a shard has when it is crowded. A cache that weighs its
// values does not know how many entries it can have before it has them. Then it gets about as
// many shards as with a limit of so many entries.
func (c *common[K, V]) fullSlots() int {
	procs := runtime.GOMAXPROCS(0)
	if c.weigh != nil && len(c.table.Load().shards) < shardCount(0, 0, procs) {
		return int(min(fullShard, 4*entriesPerShard(procs)))
	}
	return fullShard
}

// crowds makes a larger table follow, as a shard is about to have half of its fullSlots. A
// cache with a limit of entries has enough shards already.
func (c *common[K, V]) crowds() {
	if c.limit.Load() > 0 {
		return
	}
	t := c.table.Load()
	c.crowd.Store(int64(2 * len(t.shards)))
	t.growing.Store(true)
}

// alignedShards is how many shards take more than 32 KiB. The runtime puts a header of eight
// bytes before a smaller object with pointers, unless that has at most 512 bytes, and then
// shards would cross cache lines.
const alignedShards = 65

// newTable returns a table of n empty shards.
func (c *common[K, V]) newTable(n int) *table[K, V] {
	capacity := n
	if n > 1 {
		capacity = max(n, alignedShards)
	}
	t := &table[K, V]{shards: make([]shard[K, V], n, capacity)}
	for i := range t.shards {
		s := &t.shards[i]
		s.common = c
		s.next.Store(noTick)
		s.index = index.New(0)
	}
	t.growing.Store(n < c.wanted())
	return t
}

// of returns the shard of a key with hash h. It uses bits of the hash that the index of the
// shard does not use.
func (t *table[K, V]) of(h uint64) *shard[K, V] {
	return &t.shards[h>>8&uint64(len(t.shards)-1)]
}

// number returns the number of the shard of a key with hash h.
func (t *table[K, V]) number(h uint64) int { return int(h >> 8 & uint64(len(t.shards)-1)) }

// shardOf returns the shard of a key with hash h. By the time it is locked, its entries
// may have gone to a larger table. lock and rlock handle that; other callers must check
// split.
func (c *common[K, V]) shardOf(h uint64) *shard[K, V] { return c.table.Load().of(h) }

// lock locks the shard of a key with hash h for writing.
func (c *common[K, V]) lock(h uint64) *shard[K, V] {
	t := c.table.Load()
	s := t.of(h)
	if t.growing.Load() {
		if t.larger.Load() == nil && s.lockGrowing() {
			return s
		}
		c.enlarge(t)
	}
	for s.lock.Lock(); s.split; s.lock.Lock() {
		s.lock.Unlock()
		s = s.moved.of(h)
	}
	return s
}

// rlock locks the shard of a key with hash h for reading.
func (c *common[K, V]) rlock(h uint64) (*shard[K, V], biased.Reader) {
	s := c.shardOf(h)
	r := s.lock.RLock()
	for s.split {
		s.lock.RUnlock(r)
		s = s.moved.of(h)
		r = s.lock.RLock()
	}
	return s, r
}

// all returns the shards, for a walk through all of them; release must follow. If entries
// are moving to a larger table, all first moves the rest. Until release the table stays. It
// may be called again meanwhile, also by the same goroutine, as no writer waits for shape.
func (c *common[K, V]) all() []shard[K, V] {
	for {
		c.shape.RLock()
		t := c.table.Load()
		if t.larger.Load() == nil {
			return t.shards
		}
		c.shape.RUnlock()
		c.enlarge(t)
	}
}

// release ends what all began.
func (c *common[K, V]) release() { c.shape.RUnlock() }

// growOn checks, after a change of the limit, whether the cache may need more shards.
func (c *common[K, V]) growOn() {
	shards := c.all()
	defer c.release()
	c.table.Load().growing.Store(len(shards) < c.wanted())
}
