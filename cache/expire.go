// This file makes values expire before their time: Expire and ExpireAll.

package cache

// Expire makes the value of a key expire now, as if its TTL had ended, and reports whether
// the key had a value whose deadline had not passed. It is for a value that may be wrong from
// now on, but is better than an error: with Grace it stands in while its load is late or has
// failed, as any expired value does, for a Grace that begins now; without Grace it is removed
// at once, as [Expired].
//
// Like a Del, Expire keeps a load that is under way from being stored, as it may have read what
// was there before, and drops an error that Negative has kept. The next Take loads anew, also
// during the pause after a load that failed. A value that was in Grace already stays there no
// longer than before.
func (c *Cache[K, V]) Expire(key K) bool {
	h := c.shared.hasher.Hash(key)
	now := c.shared.timing.timeToExpire()
	s := c.shared.lock(h)
	s.breakFences(h, key)
	s.shared.watch.Load().removed(h)
	i, found := s.find(h, key)
	live := found && s.expireAt(i, h, now)
	s.maybeShrink()
	c.shared.observers.settle(s.unlocked())
	return live
}

// ExpireAll is Expire for all keys that are in the cache, or are being loaded, when it is
// called. Values that are stored while it runs may expire too. It looks at every entry.
func (c *Cache[K, V]) ExpireAll() {
	now := c.shared.timing.timeToExpire()
	c.shared.watch.Load().cleared()
	shards := c.shared.all()
	defer c.shared.release()
	for i := range shards {
		s := &shards[i]
		s.changeAll(c.shared.observers.settle, func(i uint32) { s.expireAt(i, s.hashOf(i), now) })
	}
	c.shared.negatives.clear()
}
