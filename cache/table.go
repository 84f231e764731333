// This file has the table of shards. It says which shard a key is in, and divides shards as the cache
// grows; sizing.go decides when.

package cache

import (
	"iter"
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
		s.lives.dropTasks()
		s.index = index.New(0)
	}
	t.growing.Store(n < c.size.wanted())
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
func (c *common[K, V]) rlock(h uint64) (*shard[K, V], biased.Reader) { return c.table.Load().rlock(h) }

// rlock is common.rlock that begins with table t: for a caller that holds the lock of a shard of the
// table before t.
func (t *table[K, V]) rlock(h uint64) (*shard[K, V], biased.Reader) {
	s := t.of(h)
	r := s.lock.RLock()
	for s.split {
		s.lock.RUnlock(r)
		s = s.moved.of(h)
		r = s.lock.RLock()
	}
	return s, r
}

// all returns an iterator over the shards. While entries move to a larger table, these are the shards
// that are not divided yet, and those that others were divided into. It holds shape, so no shard is
// divided until the loop ends. The body of the loop may begin another walk, as no writer waits for
// shape. It must call no function of the user (see pinned), but Clear, DelExpired and Resize wait in
// it for OnRemove to catch up.
func (c *common[K, V]) all() iter.Seq[*shard[K, V]] { return c.part(0, 1) }

// part is all for one of so many parts of the keys. parts is not more than the shards of a table.
func (c *common[K, V]) part(n, parts int) iter.Seq[*shard[K, V]] {
	return func(yield func(*shard[K, V]) bool) {
		c.shape.RLock()
		defer c.shape.RUnlock()
		t := c.table.Load()
		for i := n; i < len(t.shards); i += parts {
			if s := &t.shards[i]; !s.split && !yield(s) {
				return
			}
		}
		larger := t.larger.Load()
		for i := n; larger != nil && i < len(larger.shards); i += parts {
			if i%len(t.shards) < t.divided && !yield(&larger.shards[i]) {
				return
			}
		}
	}
}

// growOn checks, after a change of the limit, whether the cache may need more shards.
func (c *common[K, V]) growOn() {
	c.shape.RLock()
	defer c.shape.RUnlock()
	t := c.table.Load()
	if larger := t.larger.Load(); larger != nil {
		t = larger
	}
	t.growing.Store(len(t.shards) < c.size.wanted())
}

const (
	// divideAt is how many entries a shard may have before it is divided, while its table is growing.
	divideAt = 256

	// spread is into how many shards one is divided, if the cache needs as many.
	spread = 32

	// A write that must wait for another one adds waitStrain to the strain of a shard, and any
	// other write takes one off. So a shard becomes strained if for some time more than one write
	// in seventeen waits.
	waitStrain = 16
	strained   = 1024
)

// lockGrowing locks a shard of a growing table for writing. It returns false, without the lock, if the
// shard has divideAt entries or is strained: then a larger table should follow.
func (s *shard[K, V]) lockGrowing() (locked bool) {
	if s.lock.LockContended() {
		s.strain += waitStrain
	} else if s.strain > 0 {
		s.strain--
	}
	if s.split || s.slots.len >= divideAt || s.strain >= strained {
		s.lock.Unlock()
		return false
	}
	return true
}

// enlarge replaces t by a larger table, unless that has happened already. Each call divides
// one shard, so that no write takes long. While all shards are visited it does nothing,
// and the next write calls it again.
func (c *common[K, V]) enlarge(t *table[K, V]) {
	if !c.shape.TryLock() {
		return
	}
	defer c.shape.Unlock()
	if c.table.Load() != t {
		return
	}
	if t.larger.Load() == nil {
		n := min(c.size.wanted(), spread*len(t.shards))
		if n <= len(t.shards) {
			t.growing.Store(false)
			return
		}
		t.larger.Store(c.newTable(n))
	}
	c.divideNext(t)
}

// divideNext divides the next shard of a table. After the last one, the larger table
// replaces t. shape must be held for writing.
func (c *common[K, V]) divideNext(t *table[K, V]) {
	larger, step := t.larger.Load(), len(t.shards)
	d := division[K, V]{&t.shards[t.divided], larger, t.divided, step}
	d.run()
	// A tick that looked at the shards of t meanwhile has not seen the new ones.
	for i := t.divided; i < len(larger.shards); i += step {
		c.time.wakeBy(larger.shards[i].lives.next())
	}
	if t.divided++; t.divided == step {
		c.table.Store(larger)
	}
}
