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
	f := &filter[K, V]{del: del}
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
		removed += c.delFuncIn(s, del)
	}
	returned = true
	return removed
}

// delFuncIn is DelFunc for the entries of a shard, which is pinned.
func (c *Cache[K, V]) delFuncIn(s *shard[K, V], del func(K, V) bool) (removed int) {
	x := selection[K, V]{shard: s}
	for more := true; more; {
		more = x.next()
		wanted := x.found[:0]
		for _, e := range x.found {
			if x.moved || del(e.key, e.value) {
				wanted = append(wanted, e)
			}
		}
		n, changed, reported := x.remove(wanted)
		removed += n
		c.common.observers.settle(reported)
		for _, e := range changed {
			if c.delIf(e.key, del) {
				removed++
			}
		}
		clear(x.found) // keep no values alive while del runs
	}
	return removed
}

// delIf removes a key if del returns true for its present value.
func (c *Cache[K, V]) delIf(key K, del func(K, V) bool) (removed bool) {
	c.compute(computation[K, V]{key: key, inGrace: true}, func(value V, ok bool) (V, Op) {
		if removed = ok && del(key, value); removed {
			return value, OpDelete
		}
		return value, OpKeep
	})
	return removed
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

// remove removes entries of found. If the shard has another version now, or was divided, it removes
// none and returns all as changed.
func (x *selection[K, V]) remove(entries []candidate[K, V]) (removed int, changed []candidate[K, V], reported bool) {
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
		h := s.common.hasher.Hash(e.key)
		s.common.watch.Load().removed(h)
		cause := s.causeOr(Deleted, e.slot)
		s.remove(e.slot, h, cause)
		if cause == Deleted {
			removed++
		}
	}
	return removed, nil, s.unlock()
}
