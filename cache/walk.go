// This file has All and Entries, and the walks below them, which pin shards so that each
// entry is met once.

package cache

import (
	"iter"
	"math"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache/internal/clock"
)

// All returns an iterator over the entries, in no particular order. It holds no lock while
// the body of the loop runs, so the body may use the cache, which grows as ever. All may or
// may not see concurrent changes, but it yields no value after its deadline or its removal.
// It yields an entry that stays throughout exactly once, and may yield a key that is removed
// and stored again twice. It counts no lookups and marks nothing as used.
func (c *Cache[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		c.each(func(f liveEntry[K, V]) bool { return yield(f.key, f.value) })
	}
}

// Entries is [Cache.All] with how fresh each value is.
func (c *Cache[K, V]) Entries() iter.Seq[Entry[K, V]] {
	return func(yield func(Entry[K, V]) bool) {
		c.each(func(f liveEntry[K, V]) bool {
			return yield(c.common.entryOf(f, true))
		})
	}
}

// each calls yield for the entries until it returns false.
func (c *Cache[K, V]) each(yield func(liveEntry[K, V]) bool) {
	for s := range c.common.pinned() {
		for i, more := 0, true; more; {
			var f liveEntry[K, V]
			var ok bool
			if f, ok, i, more = s.nextLive(i); ok && f.moved {
				f, ok = c.common.liveEntry(f.key, false)
			}
			if ok && !yield(f) {
				return
			}
		}
	}
}

// A liveEntry is an entry that nextLive has found, or one that was in a shard which was divided since.
type liveEntry[K comparable, V any] struct {
	key   K
	value V
	freshness
	moved bool // to another shard, where it may have changed, and only key is right
}

// entryOf returns the Entry of f, or an empty one if not ok.
func (c *common[K, V]) entryOf(f liveEntry[K, V], ok bool) Entry[K, V] {
	e := Entry[K, V]{Key: f.key, Value: f.value}
	if !ok {
		return e
	}
	e.TTL, e.Age = math.MaxInt64, -1
	deadline := clock.TimeOf(f.deadline)
	if deadline == clock.Never && !c.time.refreshes() && f.born == 0 {
		return e
	}
	now := c.time.clock.Now()
	if e.InGrace = f.deadline < 0; deadline != clock.Never {
		e.TTL = time.Duration(deadline - now)
		if deadline == 0 { // not stored
			e.TTL = 0
		} else if !e.InGrace {
			e.TTL = max(e.TTL, 1) // it had not expired
		}
	}
	if c.time.refreshes() {
		e.Due = f.due <= now || renewing(f.due)
	}
	if f.born > 0 {
		e.Age = f.born.Until(clock.MomentOf(now))
	}
	return e
}

// liveEntry returns the entry of a key, and false if it has none or it has expired, or if inGrace is gone.
func (c *common[K, V]) liveEntry(key K, inGrace bool) (f liveEntry[K, V], ok bool) {
	h := c.hasher.Hash(key)
	s, r := c.rlock(h)
	defer s.lock.RUnlock(r)
	i, ok := s.findUsable(h, key)
	if ok = ok && (inGrace || !s.checkExpired(i)); !ok {
		return liveEntry[K, V]{key: key}, false
	}
	f = s.liveEntry(i)
	if !inGrace {
		f.deadline = clock.TimeOf(f.deadline) // it may have passed since
	}
	return f, true
}

// liveEntry returns entry i. The lock must be held, at least for reading.
func (s *shard[K, V]) liveEntry(i uint32) liveEntry[K, V] {
	e := &s.entries[i]
	return liveEntry[K, V]{e.key, e.value, s.freshnessOf(i), s.split}
}

// nextLive returns the first entry in perHold slots from i on that has not expired, or has moved, and
// ok if there is one. It also returns the slot after it, and whether there are more.
func (s *shard[K, V]) nextLive(i int) (f liveEntry[K, V], ok bool, after int, more bool) {
	r := s.lock.RLock()
	defer s.lock.RUnlock(r)
	for to := min(i+perHold, len(s.entries)); i < to && !ok; i++ {
		if s.entries[i].live() && (s.split || !s.checkExpired(uint32(i))) {
			f, ok = s.liveEntry(uint32(i)), true
			f.deadline = clock.TimeOf(f.deadline) // it may have passed since
		}
	}
	return f, ok, i, i < len(s.entries)
}

// pinned returns an iterator over shards that together have each entry that stays, once. The body of
// the loop may call functions of the user: no lock is held, and shards may be divided. A shard that is
// divided while it is pinned keeps a copy of its entries as they were then.
func (c *common[K, V]) pinned() iter.Seq[*shard[K, V]] {
	return func(yield func(*shard[K, V]) bool) {
		var shards []*shard[K, V]
		defer func() {
			for _, s := range shards { // the loop was left
				s.unpin()
			}
		}()
		for n, parts := 0, len(c.table.Load().shards); n < parts; n++ {
			for s := range c.part(n, parts) {
				s.pin()
				shards = append(shards, s)
			}
			for ; len(shards) > 0; shards = shards[1:] {
				if !yield(shards[0]) {
					return
				}
				shards[0].unpin()
			}
		}
	}
}

// pin keeps the entries in their slots until unpin: the shard may grow, but not
// shrink.
func (s *shard[K, V]) pin() {
	r := s.lock.RLock()
	s.slots.pin()
	s.lock.RUnlock(r)
}

// unpin ends a pin. The last unpin frees memory that the shard could not free while it was
// pinned.
func (s *shard[K, V]) unpin() {
	if s.slots.unpin() {
		s.unpinned()
	}
}

// unpinned is what the last unpin does. Another walk may have pinned the shard again meanwhile.
func (s *shard[K, V]) unpinned() {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.split && !s.slots.pinned() {
		s.forget()
	}
	s.maybeShrink()
}

// sweep calls f for the entries of the shard, with its lock held for writing. After each perHold slots
// it releases the lock and calls settle with the result of unlock.
func (s *shard[K, V]) sweep(settle func(reported bool), f func(i uint32)) {
	s.pin()
	defer s.unpin()
	for i, more := 0, true; more; {
		s.lock.Lock()
		for to := min(i+perHold, len(s.entries)); i < to; i++ {
			if s.entries[i].live() {
				f(uint32(i))
			}
		}
		more = i < len(s.entries)
		settle(s.unlock())
	}
}
