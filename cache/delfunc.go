package cache

import (
	"runtime/debug"
	"slices"
	"sync/atomic"
)

// DelFunc removes the entries for which del returns true, and returns how many that
// were. It asks del about every entry that was stored before it was called, and about
// the value of every load that was under way then, before that is stored: such a value
// goes to its callers and is not kept. Entries that others store meanwhile may stay.
//
// So "all of tenant 7" is what del says of a key and its value, a prefix is
// strings.HasPrefix of the key, and a tag what slices.Contains finds in the value.
// Values in Grace are asked about, and counted, too.
//
// del is called without a lock and may use the cache. It is called once for most
// entries, and again for one that others may have changed meanwhile. A panic of del goes
// through; what was found before it is removed. If it panics for a load that ends later,
// OnPanic is told, and the value is not kept.
func (c *Cache[K, V]) DelFunc(del func(key K, value V) bool) (removed int) {
	if del == nil {
		panic("cache: DelFunc with a nil function")
	}
	f := &filter[K, V]{del: del}
	returned := false
	defer func() {
		if !returned {
			f.void.Store(true)
		}
	}()
	shards := c.all()
	defer c.release()
	for i := range shards {
		shards[i].addFilter(f) // all before the first is asked: no load slips in behind
	}
	for i := range shards {
		removed += c.delFuncIn(&shards[i], del)
	}
	returned = true
	return removed
}

// A filter is the function of a DelFunc, for loads that were under way when it began.
type filter[K comparable, V any] struct {
	del  func(K, V) bool
	void atomic.Bool // it panicked, and is not to be asked again
}

// addFilter has the loads under way ask f before their values are stored.
func (s *shard[K, V]) addFilter(f *filter[K, V]) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, l := range s.loads {
		l.filters = append(l.filters, f)
	}
}

// delFuncIn is DelFunc for the entries of a shard.
func (c *Cache[K, V]) delFuncIn(s *shard[K, V], del func(K, V) bool) (removed int) {
	s.pin()
	defer s.unpin()
	var found []candidate[K, V]
	for from, more := 0, true; more; {
		var version uint64
		found, version, from, more = s.candidates(found[:0], from)
		wanted := found[:0]
		for _, e := range found {
			if del(e.key, e.value) {
				wanted = append(wanted, e)
			}
		}
		n, changed, reported := s.delCandidates(wanted, version)
		removed += n
		c.settle(reported)
		for _, e := range changed {
			if c.delIf(e.key, del) {
				removed++
			}
		}
		clear(found) // hold nothing while the next are asked
	}
	return removed
}

// delIf removes a key if del says so of the value that it has by now.
func (c *Cache[K, V]) delIf(key K, del func(K, V) bool) (removed bool) {
	c.compute(computation[K, V]{key: key, inGrace: true, f: func(value V, ok bool) (V, Op) {
		if removed = ok && del(key, value); removed {
			return value, OpDelete
		}
		return value, OpKeep
	}})
	return removed
}

// A candidate is an entry that DelFunc asks about.
type candidate[K comparable, V any] struct {
	key   K
	value V
	slot  uint32
}

// candidates appends a batch of entries, from a slot on, to dst. It returns the version
// of the shard, the slot to go on with, and whether there is one.
func (s *shard[K, V]) candidates(dst []candidate[K, V], from int) (found []candidate[K, V], version uint64, next int, more bool) {
	r := s.lock.RLock()
	defer s.lock.RUnlock(r)
	to := min(from+batch, len(s.entries))
	for i := from; i < to; i++ {
		if e := &s.entries[i]; e.live() && !s.gone(uint32(i)) {
			dst = append(dst, candidate[K, V]{e.key, e.value, uint32(i)})
		}
	}
	return dst, s.version(), to, to < len(s.entries)
}

// version changes whenever a value of the shard is removed or replaced. The shard must
// be locked, at least for reading.
func (s *shard[K, V]) version() (n uint64) {
	for _, removals := range s.removals {
		n += removals
	}
	return n
}

// delCandidates removes entries, unless something has changed in the shard since it had
// a version: then it returns them.
func (s *shard[K, V]) delCandidates(entries []candidate[K, V], version uint64) (removed int, changed []candidate[K, V], reported bool) {
	if len(entries) == 0 {
		return 0, nil, false
	}
	s.lock.Lock()
	if s.version() != version {
		s.lock.Unlock()
		return 0, entries, false
	}
	for _, e := range entries {
		h := s.common.hasher.Hash(e.key)
		s.common.watch.Load().removed(h)
		if cause := s.causeOr(Deleted, e.slot); cause == Deleted {
			removed++
			s.remove(e.slot, h, cause)
		} else {
			s.remove(e.slot, h, cause)
		}
	}
	return removed, nil, s.unlock()
}

// filterLoad asks filters about the value of a load, and keeps it from being stored if
// one of them says so.
func (c *Cache[K, V]) filterLoad(l *load[K, V], filters []*filter[K, V]) {
	if !slices.ContainsFunc(filters, func(f *filter[K, V]) bool { return f.removes(l.key, l.value, c.onPanic) }) {
		return
	}
	s := c.lock(l.hash)
	l.stale = true
	s.lock.Unlock()
}

// removes asks a filter. A panic of it counts as yes.
func (f *filter[K, V]) removes(key K, value V, onPanic func(any, []byte)) (yes bool) {
	if f.void.Load() {
		return false
	}
	defer func() {
		if p := recover(); p != nil {
			yes = true
			f.void.Store(true)
			onPanic(p, debug.Stack())
		}
	}()
	return f.del(key, value)
}
