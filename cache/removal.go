// This file removes an entry from a shard. By cause it counts the removal, remembers lost keys for
// statistics, reports to OnRemove, breaks fences and makes loads stale. A new cause begins in event.go.

package cache

import "github.com/pinwheel-cache/pinwheel/cache/internal/lost"

// del removes a key and reports whether it had a value whose deadline has not passed.
func (s *shard[K, V]) del(h uint64, key K) (live bool) {
	if w := s.common.watch.Load(); w != nil {
		w.removed(h)
	}
	i, found := s.find(h, key)
	if live = found && !s.checkExpired(i); live {
		s.remove(i, h, Deleted)
	} else {
		s.change(h, key) // remove does not, for an entry that has expired
		if found {
			s.remove(i, h, s.causeOr(Deleted, i))
		}
	}
	if found {
		s.maybeShrink()
	}
	return live
}

// remove takes entry i, whose key has hash h, out of the cache.
func (s *shard[K, V]) remove(i uint32, h uint64, cause Cause) {
	weight := s.detach(i, h, cause)
	if s.limited {
		s.common.size.budget.release(weight)
		s.releaseEntries(1)
	}
}

// releaseEntries gives back so many entries of a cache with both limits.
func (s *shard[K, V]) releaseEntries(n int) {
	if b := s.common.size.counts; b != nil {
		b.release(uint64(n))
	}
}

// detach takes entry i, whose key has hash h, out of all arrays and returns its
// weight, which the budget still counts, as it does the entry in a cache with both limits.
func (s *shard[K, V]) detach(i uint32, h uint64, cause Cause) (weight uint64) {
	s.noteRemoval(i, h, cause)
	weight = uint64(s.turn.weight(i))
	s.index.Remove(h, i)
	s.turn.remove(i)
	s.lives.removeTask(i, &s.common.time)
	var key K
	var value V
	e := &s.entries[i]
	e.key, e.value = key, value // the slot must not keep them alive
	s.slots.release(i, &e.deadline)
	return weight
}

// noteRemoval records that entry i, whose key has hash h, is removed: for ages, lost keys, kept
// errors, fences, loads, counts and events.
func (s *shard[K, V]) noteRemoval(i uint32, h uint64, cause Cause) {
	e := &s.entries[i]
	if s.noted && cause == Evicted {
		s.tally.evict(i, &s.common.time.clock, &s.common.observers.evictedAge)
	}
	switch cause {
	case Expired: // the key has had no value since the deadline, so nothing changes now
		s.tally.lose(h, lost.ByExpiry, len(s.entries))
	case Evicted:
		if s.pending.any() {
			s.pending.evict(h, e.key)
		}
		s.tally.lose(h, lost.ByEviction, len(s.entries))
	default:
		s.change(h, e.key)
	}
	s.countRemoval(h, e, cause)
}

// countRemoval counts a value that is removed and queues the event for OnRemove.
func (s *shard[K, V]) countRemoval(h uint64, e *entry[K, V], cause Cause) {
	s.removals[cause-Expired]++
	if s.common.observers.runner != nil {
		s.report(h, e, cause)
	}
}

// report queues an event. The lock of the shard is held, which keeps the events of a key
// in order.
func (s *shard[K, V]) report(h uint64, e *entry[K, V], cause Cause) {
	s.common.observers.runner.Push(h, Event[K, V]{e.key, e.value, cause})
	s.reported = true
}

// change is for a key with hash h that is about to change: it drops the kept error of the key, breaks
// its fences, and makes its load stale.
func (s *shard[K, V]) change(h uint64, key K) {
	if s.pending.any() || s.pending.fenced() || s.common.negatives != nil {
		s.changeAny(h, key)
	}
}

// changeAny is change if there may be any. It is apart so that the usual case is inlined.
func (s *shard[K, V]) changeAny(h uint64, key K) {
	s.common.dropError(key)
	s.pending.change(h, key)
}
