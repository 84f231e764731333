// This file gives entries another deadline: Touch.

package cache

import (
	"time"
)

// Touch gives the entry of a key a new TTL that begins now, and keeps its value: 0 makes
// it stay for ever, and a negative TTL removes it, as by Del. Touch reports whether there
// was an entry. It is a use of the entry, but counts as neither a hit nor a miss. Jitter
// applies.
//
// Without Idle, Touch usually takes no lock for writing. In a busy tick it skips a change
// that would postpone the deadline by less than a quarter of a tick.
func (c *Cache[K, V]) Touch(key K, expire time.Duration) bool {
	if expire < 0 {
		return c.Del(key)
	}
	h, hashed := c.shared.hasher.Word(key)
	if !hashed {
		h = c.shared.hasher.Hash(key)
	}
	l, found, done := c.shared.touch(h, key, expire)
	if !done {
		if l.deadline == never && expire > 0 {
			c.shared.timing.clock.mustBeHome()
		}
		found = c.shared.touchTask(h, key, l)
	}
	if w := c.shared.watch.Load(); w != nil {
		if !found {
			// The ghosts may have a key that the cache has not: this life is for them alone.
			l = c.shared.timing.lifeFrom(c.shared.timing.clock.now(), expire)
		}
		c.shared.touched(w, h, l.cap)
	}
	return found
}

// touch is the part of Touch that a reader can do. It returns the new life of the entry, if
// there is one, and done if nothing is left to do. For an absent key it does not read the
// clock.
func (c *shared[K, V]) touch(h uint64, key K, ttl time.Duration) (l life, found, done bool) {
	s, r := c.rlock(h)
	i, found := s.find(h, key)
	var old int64
	if found {
		old = s.entries[i].deadline.load()
	}
	if !found || !c.timing.clock.far(old) && s.die(i) { // findLive, inlined
		s.lock.RUnlock(r)
		return l, false, true
	}
	if c.simple {
		deadline := c.timing.deadlineFor(h, ttl, false)
		l = life{deadline, deadline, never}
	} else {
		l = c.timing.lifeOf(h, ttl, false)
	}
	later := l.deadline - old
	done = s.caps == nil && l.deadline != never && (0 <= later && later <= c.timing.slack(ttl) || s.retime(i, l.deadline))
	if done {
		s.use(i)
		if s.due != nil {
			s.due[i].store(l.due)
		}
	}
	s.lock.RUnlock(r)
	return l, true, done
}

// touchTask is the rest of Touch: it also moves the task of the entry.
func (c *shared[K, V]) touchTask(h uint64, key K, l life) bool {
	s := c.lock(h)
	defer s.lock.Unlock()
	i, found := s.findLive(h, key)
	if !found {
		return false
	}
	if s.earlier == nil && l.deadline < s.entries[i].deadline.load() && c.timing.clock.far(l.deadline) {
		s.awaitEarlier() // for the next ones
	}
	s.setLife(i, l)
	s.use(i)
	return true
}
