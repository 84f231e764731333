// This file has DelFunc: removal of the entries that a function selects.

package cache

// DelFunc removes the entries for which del returns true, and returns their number. It
// asks del about every entry that was stored before DelFunc was called. It also asks about
// the value of every load that was under way then, when the load has ended; if del returns
// true, the value goes to its callers and is not stored. Nor is that of a load under way
// for an entry that DelFunc removes. Entries that others store meanwhile may stay.
//
// A Take that begins after DelFunc has returned gets no such value either. It begins a load of its
// own beside one that was under way, whose value then goes only to the callers that it had. If
// DelFunc is called again meanwhile, the next Take waits for the end of the second load, and looks
// again. DelFunc drops all errors that Negative keeps, as they have no value to ask about.
//
// So del can select a tenant, keys with a prefix (strings.HasPrefix), or values with a tag
// (slices.Contains). Values in Grace are asked about, and counted, too.
//
// del is called without a lock and may use the cache. It is called once for most entries,
// and again for one that others may have changed meanwhile. If del panics, DelFunc panics;
// what it selected before is removed, except perhaps some of the last 64 entries. If del panics
// or calls [runtime.Goexit] for a load that ends later, OnPanic is told, and the value is not
// stored.
//
// A load that ends later waits for del. So del must not Take the key that it is asked about, nor
// another key of the same fetch: it would wait for itself. Close in del returns an error instead of
// waiting. If more than 32 calls of DelFunc begin while a load runs, its value is not stored.
func (c *Cache[K, V]) DelFunc(del func(key K, value V) bool) (removed int) {
	checkFunction(del == nil, "the function of DelFunc")
	return c.selectAll(del, OpDelete)
}

// selectAll applies op, which is OpDelete or opExpire, to the entries that pick selects, and keeps the
// values of loads under way that it selects from being stored. It returns the number of entries.
func (c *Cache[K, V]) selectAll(pick func(key K, value V) bool, op Op) (n int) {
	f := &filter[K, V]{del: pick}
	returned := false
	defer func() {
		if !returned {
			f.void.Store(true)
		}
	}()
	for s := range c.common.all() {
		s.lock.Lock()
		s.pending.addFilter(f) // to the loads of all shards first, so that no load is missed
		s.lock.Unlock()
	}
	c.common.dropErrors()
	for s := range c.common.pinned() {
		n += c.selectIn(s, pick, op)
	}
	returned = true
	return n
}

// selectIn is selectAll for the entries of a shard, which is pinned.
func (c *Cache[K, V]) selectIn(s *shard[K, V], pick func(K, V) bool, op Op) (n int) {
	x := selection[K, V]{shard: s}
	for more := true; more; {
		more = x.next()
		wanted := x.found[:0]
		for _, e := range x.found {
			if x.moved || pick(e.key, e.value) {
				wanted = append(wanted, e)
			}
		}
		done, changed, reported := x.apply(wanted, op)
		n += done
		c.common.observers.settle(reported)
		for _, e := range changed {
			if c.applyIf(e.key, pick, op) {
				n++
			}
		}
		clear(x.found) // keep no values alive while pick runs
	}
	return n
}

// applyIf applies op to a key if pick selects its present value.
func (c *Cache[K, V]) applyIf(key K, pick func(K, V) bool, op Op) (picked bool) {
	c.compute(computation[K, V]{key: key, selects: true, inGrace: op == OpDelete}, func(value V, ok bool) (V, Op) {
		if picked = ok && pick(key, value); picked {
			return value, op
		}
		return value, OpKeep
	})
	return picked
}

// A candidate is an entry that DelFunc asks about.
type candidate[K comparable, V any] struct {
	key   K
	value V
	slot  uint32
}

// A selection is what DelFunc has read of a shard.
type selection[K comparable, V any] struct {
	shard   *shard[K, V]
	found   []candidate[K, V]
	moved   bool   // the shard has been divided
	version uint64 // of the shard, when found was read
	slot    int    // after those of found
}

// next reads the entries of the next perHold slots, and reports whether there are more.
func (x *selection[K, V]) next() (more bool) {
	s := x.shard
	r := s.lock.RLock()
	defer s.lock.RUnlock(r)
	x.found, x.moved, x.version = x.found[:0], s.split, x.versionNow()
	for to := min(x.slot+perHold, len(s.entries)); x.slot < to; x.slot++ {
		if e := &s.entries[x.slot]; e.live() && (s.split || !s.checkGone(uint32(x.slot))) {
			x.found = append(x.found, candidate[K, V]{e.key, e.value, uint32(x.slot)})
		}
	}
	return x.slot < len(s.entries)
}

// versionNow returns a number that changes whenever a value of the shard is removed or replaced. The
// shard must be locked, at least for reading.
func (x *selection[K, V]) versionNow() (n uint64) {
	for _, removals := range x.shard.removals {
		n += removals
	}
	return n
}

// apply applies op to entries of found. If the shard has another version now, or was divided, it does
// nothing and returns all as changed.
func (x *selection[K, V]) apply(entries []candidate[K, V], op Op) (n int, changed []candidate[K, V], reported bool) {
	if len(entries) == 0 {
		return 0, nil, false
	}
	s := x.shard
	s.lock.Lock()
	if s.split || x.versionNow() != x.version {
		s.lock.Unlock()
		return 0, entries, false
	}
	for _, e := range entries {
		if s.applyTo(e.slot, s.common.hasher.Hash(e.key), op) {
			n++
		}
	}
	return n, nil, s.unlock()
}

// applyTo applies op to entry i, whose key has hash h. It reports whether the value
// had not expired, or for OpDelete was not gone.
func (s *shard[K, V]) applyTo(i uint32, h uint64, op Op) bool {
	if op == opExpire { // loads are asked by their filters
		return s.expireAt(i, h, s.common.time.clock.Now())
	}
	s.common.watch.Load().removed(h)
	cause := s.causeOr(Deleted, i)
	s.remove(i, h, cause)
	return cause == Deleted
}
