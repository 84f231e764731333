// This file has the methods that store a value: Set, GetOrSet and Swap. How a shard stores it is in
// store.go.

package cache

import (
	"time"

	"github.com/pinwheel-cache/pinwheel/cache/internal/clock"
)

// Set stores a value for a key, in place of any it has, with the TTL of the options. The
// next Get finds it, unless it was evicted meanwhile. Setting a key that has a value
// counts as a use of the entry.
func (c *Cache[K, V]) Set(key K, value V) {
	c.set(key, value, c.common.time.expireAfter.get())
}

// SetWithExpire is [Cache.Set] with a TTL of its own, of any length, to which Jitter
// applies. With 0 the entry never expires, but by Idle. With a negative TTL it has expired
// already: the key is removed, as by Del, and value is not stored.
func (c *Cache[K, V]) SetWithExpire(key K, value V, expire time.Duration) {
	if expire < 0 {
		c.Del(key)
		return
	}
	c.set(key, value, expire)
}

func (c *Cache[K, V]) set(key K, value V, ttl time.Duration) {
	h, hashed := c.common.hasher.Word(key)
	if !hashed {
		h = c.common.hasher.Hash(key)
	}
	if !c.common.simple {
		c.setAny(h, key, value, ttl)
		return
	}
	deadline := c.common.time.deadlineFor(h, ttl)
	if deadline == clock.Never && ttl > 0 {
		c.common.time.clock.MustNow()
	}
	s := c.common.lock(h)
	i, found := s.find(h, key)
	if found && s.overwrite(h, i, value, deadline) || !found && s.add(h, key, value, deadline) {
		s.lock.Unlock()
		return
	}
	c.setIn(s, i, found, h, key, value, deadline)
}

// setIn is the rest of set in a simple cache after overwrite or add has returned false. Shard s is
// locked; if found, i is the entry of the key.
func (c *Cache[K, V]) setIn(s *shard[K, V], i uint32, found bool, h uint64, key K, value V, deadline int64) {
	// Field by field: a literal would be made beside u and copied, which takes 9 ns.
	var u update[K, V]
	u.hash, u.key, u.value = h, key, value
	u.weight = 1
	u.life = life{deadline, deadline, clock.Never}
	if !c.endStore(s, &u, u.putAt(s, i, found)) {
		c.putAgain(&u)
	}
}

// setAny is set in a cache that is not simple.
func (c *Cache[K, V]) setAny(h uint64, key K, value V, ttl time.Duration) {
	if ttl = c.common.ttlOf(key, value, ttl); ttl < 0 {
		c.Del(key)
		return
	}
	u := update[K, V]{hash: h, key: key, value: value, weight: c.common.size.weightOf(key, value), life: c.common.time.lifeOf(h, ttl)}
	s := c.common.lock(h)
	if !c.endStore(s, &u, u.put(s)) {
		c.putAgain(&u)
	}
	c.common.observers.settle(u.reported)
}

// putAgain goes on with a Set whose first attempt found too little room, which is rare. Set makes the
// first attempt itself, as store would call a function for it.
func (c *Cache[K, V]) putAgain(u *update[K, V]) {
	c.storeUnsettled(u, func(s *shard[K, V]) uint64 { return u.put(s) })
}

// GetOrSet returns the value of a key and true if it has one. Otherwise it stores value, as
// Set does, and returns value and false. It counts as a hit or a miss.
func (c *Cache[K, V]) GetOrSet(key K, value V) (actual V, loaded bool) {
	return c.getOrSet(key, value, c.common.time.expireAfter.get())
}

// GetOrSetWithExpire is [Cache.GetOrSet] with a TTL of its own for value, as in
// [Cache.SetWithExpire]: 0 means for ever. With a negative TTL value is returned and not
// stored.
func (c *Cache[K, V]) GetOrSetWithExpire(key K, value V, expire time.Duration) (actual V, loaded bool) {
	if expire >= 0 {
		return c.getOrSet(key, value, expire)
	}
	if actual, loaded = c.Get(key); loaded {
		return actual, true
	}
	return value, false
}

func (c *Cache[K, V]) getOrSet(key K, value V, ttl time.Duration) (actual V, loaded bool) {
	if actual, loaded = c.Get(key); loaded {
		return actual, true
	}
	if ttl = c.common.ttlOf(key, value, ttl); ttl < 0 {
		return value, false
	}
	h := c.common.hasher.Hash(key)
	u := update[K, V]{hash: h, key: key, value: value, weight: c.common.size.weightOf(key, value), life: c.common.time.lifeOf(h, ttl)}
	actual = value
	c.store(&u, func(s *shard[K, V]) uint64 {
		if i, found := s.findLive(h, key); found && s.useAt(i, h) {
			actual, loaded = s.entries[i].value, true
			return 0
		}
		return u.put(s)
	})
	return actual, loaded
}

// Swap is [Cache.Set], but returns the value that the key had before and true, or false if
// there was none or it had expired. It counts as neither a hit nor a miss.
func (c *Cache[K, V]) Swap(key K, value V) (old V, ok bool) {
	ttl := c.common.ttlOf(key, value, c.common.time.expireAfter.get())
	if ttl < 0 {
		return c.GetAndDel(key)
	}
	h := c.common.hasher.Hash(key)
	u := update[K, V]{hash: h, key: key, value: value, weight: c.common.size.weightOf(key, value), life: c.common.time.lifeOf(h, ttl)}
	c.store(&u, func(s *shard[K, V]) uint64 {
		var i uint32
		var none V
		if i, ok = s.findLive(h, key); ok {
			old = s.entries[i].value
		} else {
			old = none
		}
		return u.put(s)
	})
	return old, ok
}
