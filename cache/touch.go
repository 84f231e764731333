// This file has Touch, which changes the deadline of an entry.

package cache

import (
	"time"

	"github.com/pinwheel-cache/pinwheel/cache/internal/clock"
)

// Touch gives the entry of a key a new TTL that begins now, and keeps its value: 0 makes
// it stay for ever, but for Idle, and a negative TTL removes it, as by Del. Touch reports whether there
// was an entry. It is a use of the entry, but counts as neither a hit nor a miss. Jitter
// applies.
//
// Without Idle, Touch usually takes no lock for writing. In a busy tick it skips a change
// that would postpone the deadline by less than a quarter of a tick.
func (c *Cache[K, V]) Touch(key K, expire time.Duration) bool {
	if expire < 0 {
		return c.Del(key)
	}
	h, hashed := c.common.hasher.Word(key)
	if !hashed {
		h = c.common.hasher.Hash(key)
	}
	l, found, done := c.common.touch(h, key, expire)
	if !done {
		if l.deadline == clock.Never && c.common.time.ends(expire) {
			c.common.time.clock.MustNow()
		}
		found = c.common.touchTask(h, key, l)
	}
	if w := c.common.watch.Load(); w != nil {
		if !found {
			// The shadows may have a key that the cache has not: this life is for them alone.
			l = c.common.time.lifeFrom(c.common.time.clock.Now(), expire)
		}
		c.common.touched(w, h, l.cap)
	}
	return found
}

// touch is the part of Touch that needs the lock only for reading. It returns the new life of the entry,
// if there is one, and done if nothing is left to do. For an absent key it does not read the clock.
func (c *common[K, V]) touch(h uint64, key K, ttl time.Duration) (l life, found, done bool) {
	s, r := c.rlock(h)
	i, found := s.find(h, key)
	var old int64
	if found {
		old = s.entries[i].deadline.Get()
	}
	if !found || !c.time.clock.Far(old) && s.markIfPassed(i) { // findLive, inlined
		s.lock.RUnlock(r)
		return l, false, true
	}
	if c.simple {
		deadline := c.time.deadlineFor(h, ttl)
		l = life{deadline, deadline, clock.Never}
	} else {
		l = c.time.lifeIn(h, ttl)
	}
	// Unsigned: what is earlier is beyond any slack, without another branch.
	done = c.time.idle == 0 && l.deadline != clock.Never && (uint64(l.deadline-old) <= c.time.slack(ttl) || s.lives.retime(i, &s.entries[i].deadline, l.deadline, &c.time))
	if done {
		s.use(i)
		s.lives.setDue(i, l.due)
	}
	s.lock.RUnlock(r)
	return l, true, done
}

// touchTask is the rest of Touch: it also moves the task of the entry.
func (c *common[K, V]) touchTask(h uint64, key K, l life) bool {
	s := c.lock(h)
	defer s.lock.Unlock()
	i, found := s.findLive(h, key)
	if !found {
		return false
	}
	s.setLife(i, l)
	if c.time.idle == 0 && l.deadline != clock.Never {
		s.lives.awaitEarlier(len(s.entries), &c.time) // so that the next ones of this tick need not lock for writing
	}
	s.use(i)
	return true
}
