// This file has the table of shards. It says which shard a key is in, and divides shards as the cache
// grows; sizing.go decides when.

package cache

import (
	"iter"
	"sync/atomic"

	"github.com/pinwheel-cache/pinwheel/cache/internal/clock"
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
// shape. It must call no function of the user (see pinned), but Clear and Resize wait in
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

// A division moves the entries of a shard to the shards of a larger table to which its keys belong:
// every step-th from number first on.
type division[K comparable, V any] struct {
	from        *shard[K, V]
	larger      *table[K, V]
	first, step int
}

// run moves all in one hold of the lock. No other caller sees the shards of the larger table until
// then. They get the entries in the order in which they would be evicted, with
// all their state. A caller that finds the shard split goes on in the larger table.
func (d *division[K, V]) run() {
	s, larger := d.from, d.larger
	s.lock.Lock()
	defer s.lock.Unlock()
	hashes := make([]uint64, len(s.entries))
	sizes := make([]int, len(larger.shards)/d.step)
	for i := range s.entries {
		if e := &s.entries[i]; e.live() {
			hashes[i] = s.common.hasher.Hash(e.key)
			sizes[larger.number(hashes[i])/d.step]++
		}
	}
	for i := d.first; i < len(larger.shards); i += d.step {
		larger.shards[i].lock.Lock()
		defer larger.shards[i].lock.Unlock()
		d.prepare(&larger.shards[i], sizes[i/d.step])
	}
	move := func(i uint32) { d.move(i, hashes[i]) }
	if s.turn.order != nil {
		for i := range s.turn.order.All() {
			move(i)
		}
	} else {
		for i := range s.entries {
			if s.entries[i].live() {
				move(uint32(i))
			}
		}
	}
	s.pending.moveTo(func(h uint64) *pending[K, V] { return &larger.of(h).pending })
	d.moveCounts(&larger.shards[d.first])
	d.giveUp()
}

// prepare gives a shard the settings of the one that is being divided, and room for n of its entries.
func (d *division[K, V]) prepare(s *shard[K, V], n int) {
	from := d.from
	s.limited, s.noted, s.off, s.closed = from.limited, from.noted, from.off, from.closed
	if n > 0 {
		s.setSlots(max(n, minSlots))
	}
	if n > 0 && from.lives.any() {
		s.lives.makeTasks(s.common.size.ringSlots(len(d.larger.shards)), len(s.entries))
	}
	s.marks = s.turn.split(&from.turn, len(s.entries))
}

// move copies entry j, whose key has hash h.
func (d *division[K, V]) move(j uint32, h uint64) {
	s := d.larger.of(h)
	i := s.claimSlot()
	s.copyEntry(i, d.from, j)
	s.index.Insert(h, i)
	s.turn.adopt(i, &d.from.turn, j)
	switch deadline := s.entries[i].deadline.Get(); {
	case deadline == clock.Never:
	case deadline < 0: // dead: the next tick removes it
		s.setTask(i, s.common.time.nextTick())
	default:
		s.setTask(i, s.common.time.tickAt(deadline))
	}
}

// moveCounts gives a shard the counts.
func (d *division[K, V]) moveCounts(s *shard[K, V]) {
	s.lock.Count(d.from.lock.Counts())
	s.tally.inherit(&d.from.tally)
	s.removals = d.from.removals
}

// giveUp empties the shard, except for the table to which its entries moved, and what walks need that
// have pinned it.
func (d *division[K, V]) giveUp() {
	s := d.from
	s.split, s.moved = true, d.larger
	s.index = index.New(0)
	s.slots.drop()
	s.marks, s.limited = nil, false
	s.lives.drop(&s.common.time)
	s.tally.drop()
	s.turn.clear()
	if !s.slots.pinned() {
		s.forget()
	}
}

// forget drops what a shard that was divided kept for walks.
func (s *shard[K, V]) forget() {
	s.entries = nil
	s.lives.dropCaps()
	s.turn.drop()
}
