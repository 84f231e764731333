// This file has the methods that look a key up and change no value: Get, Peek, Entry, Stale
// and GetMany.

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

// An Entry is a key with its value, and how fresh that is.
type Entry[K comparable, V any] struct {
	Key     K
	Value   V
	TTL     time.Duration // until it expires; the longest Duration if it never does; 0 or less in Grace; 0 if TakeEntry loaded it and it was not stored
	Age     time.Duration // since it was stored, or its load began, to 17 ms; -1 if that is not known: without Ages, or after Restore
	Due     bool          // it is to be renewed, by Refresh or RefreshAfter, or its renewal is under way; not in the pause after one that failed
	InGrace bool          // it has expired, and may stand in: only Stale and TakeEntry find it
}

// Entry returns the entry of a key and true, or false if there is none or it has expired.
// Like Peek it is not counted, and does not count as a use of the entry.
func (c *Cache[K, V]) Entry(key K) (Entry[K, V], bool) {
	f, ok := c.common.liveEntry(key, false)
	return c.common.entryOf(f, ok), ok
}

// Stale is [Cache.Entry], but also returns a value in Grace, without loading it anew.
func (c *Cache[K, V]) Stale(key K) (Entry[K, V], bool) {
	f, ok := c.common.liveEntry(key, true)
	return c.common.entryOf(f, ok), ok
}

// GetMany returns the values of keys as Get does, and leaves out keys that have none. Each key counts as
// one hit or one miss, as often as it is in keys.
func (c *Cache[K, V]) GetMany(keys []K) map[K]V {
	found := make(map[K]V, len(keys))
	for _, key := range keys {
		if value, ok := c.Get(key); ok {
			found[key] = value
		}
	}
	return found
}
