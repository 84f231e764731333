// This file has entries as callers get them: Entry, TTL.

package cache

import "time"

// An Entry is a key with its value, and how fresh that is.
type Entry[K comparable, V any] struct {
	Key   K
	Value V

	// TTL is the time until the value expires: the longest Duration if it never does. A negative
	// one says that it is in Grace, and for how long. It is 0 for a value that was loaded and not
	// stored.
	TTL time.Duration

	// Age is the time since the value was stored, or a load said Unchanged, to about 17 ms. It is 0
	// without the option Ages.
	Age time.Duration

	// Due says that the value is to be loaded anew, as it is in Grace, or its time of Refresh or
	// RefreshAfter has come.
	Due bool
}

// Entry returns the entry of a key and true, or false if there is none or it has expired. One that
// is in Grace is returned with false and a negative TTL, and no load begins. Like Peek it is not
// counted, and does not count as a use of the entry.
func (c *Cache[K, V]) Entry(key K) (Entry[K, V], bool) {
	h := c.shared.hasher.Hash(key)
	var value V
	var a about
	s, r := c.shared.rlock(h)
	i, found := s.findUsable(h, key)
	if found {
		value, a = s.entries[i].value, s.about(i)
	}
	s.lock.RUnlock(r)
	if !found || a.deadline < 0 && c.shared.timing.grace == 0 { // or it has expired just now
		return Entry[K, V]{Key: key}, false
	}
	return c.shared.entryOf(key, value, a), a.deadline > 0
}

// TTL returns the time until the value of a key expires: the longest [time.Duration] if it
// never does. It returns 0 and false if the key has no value. With Idle, every use
// postpones the end. Like Peek, TTL is not counted, and does not count as a use.
func (c *Cache[K, V]) TTL(key K) (left time.Duration, ok bool) {
	e, ok := c.Entry(key)
	return max(e.TTL, 0), ok
}

// entryOf returns the entry of a key from what was told of it. No lock may be held.
func (c *shared[K, V]) entryOf(key K, value V, a about) Entry[K, V] {
	t := &c.timing
	e := Entry[K, V]{Key: key, Value: value}
	switch {
	case a.deadline == 0:
		return e
	case a.deadline > 0:
		e.TTL, e.Due = t.until(a.deadline), t.isDue(a.due)
	default:
		e.TTL, e.Due = -max(time.Duration(t.clock.now()+a.deadline), 1), true
	}
	if c.observers.evictedAge != nil {
		e.Age = a.born.until(t.clock.moment())
	}
	return e
}
