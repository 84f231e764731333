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
	var found []candidate[K, V]
	for from, more := 0, true; more; {
		var version uint64
		var moved bool
		found, version, moved, from, more = s.candidates(found[:0], from)
		wanted := found[:0]
		for _, e := range found {
			if moved || del(e.key, e.value) {
				wanted = append(wanted, e)
			}
		}
		n, changed, reported := s.delCandidates(wanted, version)
		removed += n
		c.common.observers.settle(reported)
		for _, e := range changed {
			if c.delIf(e.key, del) {
				removed++
			}
		}
		clear(found) // keep no values alive while del runs
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

// candidates appends the entries of perHold slots, from a slot on, to dst. It returns the version of
// the shard, whether entries have moved as the shard was divided, the next slot, and whether there
// is one.
func (s *shard[K, V]) candidates(dst []candidate[K, V], from int) (found []candidate[K, V], version uint64, moved bool, next int, more bool) {
	r := s.lock.RLock()
	defer s.lock.RUnlock(r)
	to := min(from+perHold, len(s.entries))
	for i := from; i < to; i++ {
		if e := &s.entries[i]; e.live() && (s.split || !s.checkGone(uint32(i))) {
			dst = append(dst, candidate[K, V]{e.key, e.value, uint32(i)})
		}
	}
	return dst, s.version(), s.split, to, to < len(s.entries)
}

// version returns a number that changes whenever a value of the shard is removed or replaced. The shard must
// be locked, at least for reading.
func (s *shard[K, V]) version() (n uint64) {
	for _, removals := range s.removals {
		n += removals
	}
	return n
}

// delCandidates removes entries. If the shard has another version now, or was divided, it removes
// none and returns all as changed.
func (s *shard[K, V]) delCandidates(entries []candidate[K, V], version uint64) (removed int, changed []candidate[K, V], reported bool) {
	if len(entries) == 0 {
		return 0, nil, false
	}
	s.lock.Lock()
	if s.split || s.version() != version {
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
