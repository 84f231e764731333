// This file has the reads of one key that begin no load: Get and Peek.

package cache

import (
	"github.com/pinwheel-cache/pinwheel/internal/biased"
)

// Get returns the value of a key and true, or false if the cache does not have one or its
// deadline has passed.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	h, hashed := c.shared.hasher.Word(key)
	if !hashed {
		h = c.shared.hasher.Hash(key)
	}
	if w := c.shared.watch.Load(); w != nil {
		c.shared.asked(w, h, key)
	}
	s := c.shared.shardOf(h)
	r := s.lock.RLock()
	var i uint32
	home := s.index.Home(h) // find, inlined
	m := home.Match(h)
	for ; m != 0; m = m.Next() {
		if i = home.Slot(m); s.entries[i].key == key {
			break
		}
	}
	if m == 0 {
		var found bool
		if s, r, i, found = c.getFar(s, r, h, key); !found {
			return value, false
		}
	}
	e := &s.entries[i]
	if !c.shared.timing.clock.far(e.deadline.load()) && s.die(i) || c.shared.timing.idle > 0 && !s.slide(i, h) { // expired, inlined
		s.missesExpired.Add(1)
		s.lock.RUnlockMiss(r)
		return value, false
	}
	value = e.value
	if s.marks != nil {
		s.marks.Mark(i)
	}
	s.lock.RUnlockHit(r)
	return value, true
}

// getFar is the rest of the search of Get for a key that is not in its home group. If it is
// not found, that is counted, and the lock given back.
func (c *Cache[K, V]) getFar(s *shard[K, V], r biased.Reader, h uint64, key K) (*shard[K, V], biased.Reader, uint32, bool) {
	i, found := s.find(h, key)
	for !found {
		if !s.split {
			s.countMiss(h)
			s.lock.RUnlockMiss(r)
			return s, r, 0, false
		}
		s.lock.RUnlock(r)
		s = s.moved.of(h)
		r = s.lock.RLock()
		i, found = s.find(h, key)
	}
	return s, r, i, true
}

// Peek is [Cache.Get], but it is not counted, and does not count as a use: it keeps the
// entry neither from eviction nor from expiry by Idle.
func (c *Cache[K, V]) Peek(key K) (value V, ok bool) {
	h := c.shared.hasher.Hash(key)
	s, r := c.shared.rlock(h)
	i, ok := s.findLive(h, key)
	if ok {
		value = s.entries[i].value
	}
	s.lock.RUnlock(r)
	return value, ok
}
