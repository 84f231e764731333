// This file has the methods that look a key up and change no value: Get, Peek and Entry.

package cache

import (
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/biased"
)

// Get returns the value of a key and true, or false if the key has no value or its deadline has
// passed.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	h, hashed := c.common.hasher.Word(key)
	if !hashed {
		h = c.common.hasher.Hash(key)
	}
	if w := c.common.watch.Load(); w != nil {
		c.asked(w, h, key)
	}
	s := c.common.shardOf(h)
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
	if !c.common.time.clock.Far(e.deadline.Get()) && s.markIfPassed(i) || c.common.time.idle > 0 && !s.lives.slide(i, &s.entries[i].deadline, h, &s.common.time) { // checkExpired, inlined
		s.tally.missExpired()
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

// getFar goes on with the search of Get for a key that is not in its home group. If it does not find
// the key, it counts a miss and releases the lock.
func (c *Cache[K, V]) getFar(s *shard[K, V], r biased.Reader, h uint64, key K) (*shard[K, V], biased.Reader, uint32, bool) {
	i, found := s.find(h, key)
	for !found {
		if !s.split {
			s.tally.miss(h)
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
	h := c.common.hasher.Hash(key)
	s, r := c.common.rlock(h)
	i, ok := s.findLive(h, key)
	if ok {
		value = s.entries[i].value
	}
	s.lock.RUnlock(r)
	return value, ok
}

// An Entry is a key with its value and the time it has left.
type Entry[K comparable, V any] struct {
	Key   K
	Value V
	TTL   time.Duration // until it expires; the longest Duration if it never does
}

// Entry returns the entry of a key and true, or false if there is none or it has expired.
// Like Peek it is not counted, and does not count as a use of the entry.
func (c *Cache[K, V]) Entry(key K) (Entry[K, V], bool) {
	f, ok := c.common.liveEntry(key)
	e := Entry[K, V]{Key: key, Value: f.value}
	if ok {
		e.TTL = c.common.time.until(f.deadline)
	}
	return e, ok
}
