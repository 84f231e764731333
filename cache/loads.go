// This file has what a load is, and the loads of a shard: those that callers share, and those
// that a change of their key has overtaken.

package cache

import (
	"iter"
	"time"
)

// A Load tells the function of [Cache.TakeWith] about the old value, and the cache about
// the new one. The function must not use it after it has returned.
type Load[V any] struct {
	// Old is the value that the load renews, if HasOld: one that is due for Refresh, or in
	// Grace.
	Old    V
	HasOld bool

	// Expire is the TTL of the new value, of any length. It is that of the options, unless
	// the function changes it. Jitter applies. 0 means for ever. With a negative TTL the
	// value goes to the callers and is not stored, and Old is removed.
	Expire time.Duration

	// Unchanged says that Old is still right: it stays, with a new TTL, and the callers
	// get it. The value that the function returns is ignored, and OnRemove is told
	// nothing. It is an error without Old.
	Unchanged bool

	// NotFound says that the function's error means that there is no value: the statistics
	// count the load as successful. Without an error it has no effect.
	NotFound bool
}

// A load is a fetch of a key that callers share, like a call of package singleflight.
type load[K comparable, V any] struct {
	common   *common[K, V]
	began    int64
	key      K
	hash     uint64
	unshared bool            // the shard does not know it: the result is for one caller and not stored
	stale    bool            // the key was changed since: the result is not stored, and nobody joins
	evicted  bool            // the entry was evicted since: the result is stored only if a caller waits
	renewal  bool            // the key had a value: see renewal.go
	done     chan struct{}   // closed when value, err and how are set; nil while nobody waits
	flight   *flight         // the context of the fetch, which counts the callers
	filters  []*filter[K, V] // of DelFunc, asked before the value is stored
	filtered uint8           // how many filters it has got, also those asked already
	batch    []*load[K, V]   // in the first load of a batch: all loads of it
	member   bool            // of a batch, and not its first load: it ends with the first
	newer    *load[K, V]     // a load of the same key that began later; see below
	older    *load[K, V]     // one that began earlier; it is stale
	// stale, evicted, done, filters, filtered, newer and older are guarded by the lock of the shard.

	Load[V] // the argument of the fetch of TakeWith
	weight  uint32
	keepErr time.Duration // how long Negative keeps err; 0: not at all
	absent  bool          // the fetch of a batch has left the key out
	ofBatch bool          // err is that of a whole batch, which says nothing about a single key

	value V
	err   error
	how   outcome

	cache   *Cache[K, V]  // of a load in a goroutine of its own
	fetcher fetcher[K, V] // likewise
}

// An outcome is how a fetch ended.
type outcome uint8

const (
	exited outcome = iota // by Goexit: it neither returned nor panicked
	returned
	panicked
)

// members returns the other loads of the batch whose first load is l.
func (l *load[K, V]) members() []*load[K, V] {
	if len(l.batch) == 0 {
		return nil
	}
	return l.batch[1:]
}

// makeDone makes the channel on which callers wait for the load.
func (l *load[K, V]) makeDone() {
	if l.done == nil {
		l.done = make(chan struct{})
	}
}

// publish hands the result to the callers that wait for the load. Nobody can join it any
// more. The flight ends when all loads that share it are published.
func (l *load[K, V]) publish() {
	if l.done != nil {
		close(l.done)
	}
}

// The loads of a key that are under way are a list, from the newest to the oldest. Only the
// newest may be shared. A change of the key makes it stale; then the next caller that misses
// begins another one in front of it. So all behind the newest are stale: their results go to
// their own callers and nowhere else.
//
// Most shards have one load at a time, which is in no map: shard.load.

// A loads has the newest load of each key of a shard but one. The lock of the shard guards it.
type loads[K comparable, V any] struct {
	of   map[K]*load[K, V]
	peak int32 // most keys since the map shrank
}

// newest returns the newest load of a key, or nil.
func (s *shard[K, V]) newest(key K) *load[K, V] {
	if s.load == nil || s.load.key == key {
		return s.load
	}
	if s.others == nil {
		return nil
	}
	return s.others.of[key]
}

// current returns the load of a key that callers share, or nil.
func (s *shard[K, V]) current(key K) *load[K, V] {
	if l := s.newest(key); l != nil && !l.stale {
		return l
	}
	return nil
}

// addLoad makes a load the newest of its key.
func (s *shard[K, V]) addLoad(l *load[K, V]) {
	if l.older = s.newest(l.key); l.older != nil {
		l.older.newer = l
	}
	s.setLoads(l)
}

// setLoads makes l the newest load of its key; what is behind it stays.
func (s *shard[K, V]) setLoads(l *load[K, V]) {
	if s.load == nil || s.load.key == l.key {
		s.load = l
		return
	}
	if s.others == nil {
		s.others = &loads[K, V]{of: make(map[K]*load[K, V])}
	}
	s.others.of[l.key] = l
	s.others.peak = max(s.others.peak, int32(len(s.others.of)))
}

// removeLoad removes a load that has ended.
func (s *shard[K, V]) removeLoad(l *load[K, V]) {
	switch {
	case l.newer != nil:
		l.newer.older = l.older
	case l.older != nil:
		s.setLoads(l.older)
	default:
		s.dropLoads(l.key)
	}
	if l.older != nil {
		l.older.newer = l.newer
	}
	l.newer, l.older = nil, nil
}

// dropLoads removes the last load of a key.
func (s *shard[K, V]) dropLoads(key K) {
	others := s.others
	if s.load.key == key {
		s.load = nil
		if others == nil {
			return
		}
		for _, l := range others.of {
			s.load, key = l, l.key
			break
		}
	}
	delete(others.of, key)
	others.of = shrunk(others.of, &others.peak)
}

// newestLoads returns the newest load of each key.
func (s *shard[K, V]) newestLoads() iter.Seq[*load[K, V]] {
	return func(yield func(*load[K, V]) bool) {
		if s.load == nil || !yield(s.load) || s.others == nil {
			return
		}
		for _, l := range s.others.of {
			if !yield(l) {
				return
			}
		}
	}
}

// allLoads returns the loads of all keys of the shard, also the stale ones.
func (s *shard[K, V]) allLoads() iter.Seq[*load[K, V]] {
	return func(yield func(*load[K, V]) bool) {
		for l := range s.newestLoads() {
			for ; l != nil; l = l.older {
				if !yield(l) {
					return
				}
			}
		}
	}
}

// shrunk returns m, or a smaller copy if m once had many more keys, at most *most: a
// map never shrinks by itself.
func shrunk[K comparable, E any](m map[K]E, most *int32) map[K]E {
	const small = 64
	if *most <= small || len(m) > int(*most)/sparse {
		return m
	}
	less := make(map[K]E, len(m))
	for key, e := range m {
		less[key] = e
	}
	*most = int32(len(m))
	return less
}
