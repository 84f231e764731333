// This file has the second look of a Take, at a key in its locked shard: it finds the entry, returns its
// value, or makes a load.

package cache

// A look is a key in its shard, whose lock is held, and its entry, if it has one.
type look[K comparable, V any] struct {
	*shard[K, V]
	key  K
	hash uint64
	slot uint32 // of the entry, if has
	has  bool
}

// seek locks the shard of a key, and looks for the key.
func (at *look[K, V]) seek(c *common[K, V], key K) {
	h := c.hasher.Hash(key)
	s := c.lock(h)
	at.shard, at.key, at.hash = s, key, h
	at.slot, at.has = s.find(h, key)
}

// current returns the load of the key that callers share, or nil.
func (at *look[K, V]) current() *load[K, V] { return at.pending.current(at.hash, at.key) }

// answer returns the value of the entry, which has not expired or is in Grace, to a Take.
func (at *look[K, V]) answer(who *caller) V {
	at.use(at.slot)
	if who.on != nil {
		who.tell(at.freshnessOf(at.slot))
	}
	if at.common.time.grace.get() > 0 && at.checkExpired(at.slot) {
		at.tally.hitGrace()
	}
	return at.entries[at.slot].value
}

// newLoad returns a load of the key that a caller begins. It joins the batch of first, if that is not
// nil.
func (at *look[K, V]) newLoad(who *caller, first *load[K, V]) *load[K, V] {
	if first != nil {
		l := &load[K, V]{flight: first.flight, member: true}
		at.initLoad(l, who.now)
		if who.waits {
			l.makeDone()
		}
		return l
	}
	l := at.pending.spareLoad()
	if l == nil {
		l = newSoleLoad[K, V]()
	}
	at.initLoad(l, who.now)
	l.flight.Start(&who.Caller)
	if who.waits || who.CanLeave() {
		l.makeDone() // the leader waits too
	}
	return l
}

func (at *look[K, V]) initLoad(l *load[K, V], now int64) {
	l.common, l.key, l.hash, l.began = at.common, at.key, at.hash, now
	l.Expire = max(l.common.time.expireAfter.get(), 0) // not ttlByValue
}
