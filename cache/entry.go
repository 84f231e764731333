package cache

import "time"

// An Entry is a key with its value and the time it has left.
type Entry[K comparable, V any] struct {
	Key   K
	Value V
	TTL   time.Duration // until it expires; the longest Duration if it never does
}

// Entry returns the entry of a key and true, or false if there is none or it has expired.
// Like Peek it is not counted, and does not count as a use of the entry.
func (c *Cache[K, V]) Entry(key K) (Entry[K, V], bool) {
	h := c.common.hasher.Hash(key)
	e := Entry[K, V]{Key: key}
	deadline := int64(0)
	s, r := c.common.rlock(h)
	i, ok := s.findLive(h, key)
	if ok {
		e.Value, deadline = s.entries[i].value, s.entries[i].deadline.load()
	}
	s.lock.RUnlock(r)
	if ok {
		e.TTL = c.common.until(deadline)
	}
	return e, ok
}

// TTL returns the time until the value of a key expires: the longest [time.Duration] if it
// never does. It returns 0 and false if the key has no value. With Idle, every use
// postpones the end. Like Peek, TTL is not counted, and does not count as a use.
func (c *Cache[K, V]) TTL(key K) (left time.Duration, ok bool) {
	e, ok := c.Entry(key)
	return e.TTL, ok
}

// GetAndDel is [Cache.Del], but returns the value that the key had and true, or false if
// there was none or it had expired. It counts as neither a hit nor a miss.
func (c *Cache[K, V]) GetAndDel(key K) (value V, ok bool) {
	h := c.common.hasher.Hash(key)
	s := c.common.lock(h)
	if i, found := s.findLive(h, key); found {
		value = s.entries[i].value
	}
	ok = s.del(h, key)
	c.common.settle(s.unlock())
	return value, ok
}

// Swap is [Cache.Set], but returns the value that the key had before and true, or false if
// there was none or it had expired. It counts as neither a hit nor a miss.
func (c *Cache[K, V]) Swap(key K, value V) (old V, ok bool) {
	h := c.common.hasher.Hash(key)
	u := update[K, V]{hash: h, key: key, value: value, weight: c.common.weightOf(key, value), life: c.common.lifeOf(h, c.common.expireAfter)}
	for done := false; !done; {
		s := c.common.lock(h)
		var i uint32
		var none V
		if i, ok = s.findLive(h, key); ok {
			old = s.entries[i].value
		} else {
			old = none
		}
		done = c.endStore(s, &u, s.put(&u))
	}
	c.common.settle(u.reported)
	return old, ok
}
