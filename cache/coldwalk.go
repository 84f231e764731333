// This file has Coldest and Hottest, and the walk that they and Save take, from the coldest entry to the
// hottest.

package cache

import (
	"iter"
	"slices"
)

// Coldest returns an iterator over the entries, those first that would be evicted next. Each shard has an
// order of its own, and evicts for a new key of its own: Coldest takes some of each in turn. It holds no
// lock while the body of the loop runs. It reads some entries ahead, Hottest all, so it may yield one that
// has expired or was removed since, and miss one stored meanwhile. It counts no lookups and marks nothing
// as used. In a cache without a limit the order is none in particular.
func (c *Cache[K, V]) Coldest() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for e := range c.fromColdest() {
			if !yield(e.key, e.value) {
				return
			}
		}
	}
}

// Hottest is [Cache.Coldest] in the other direction. It copies all entries first.
func (c *Cache[K, V]) Hottest() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, e := range slices.Backward(slices.Collect(c.fromColdest())) {
			if !yield(e.key, e.value) {
				return
			}
		}
	}
}

// fromColdest returns an iterator over the entries, some of each shard in turn, so that the coldest of
// all come first.
func (c *Cache[K, V]) fromColdest() iter.Seq[walked[K, V]] {
	return func(yield func(walked[K, V]) bool) {
		var walks []*coldWalk[K, V]
		for s := range c.common.all() {
			walks = append(walks, newColdWalk(s))
			defer s.unpin()
		}
		var entries []walked[K, V]
		for more := true; more; {
			more = false
			for _, w := range walks {
				entries = w.next(entries[:0])
				for _, e := range entries {
					if !yield(e) {
						return
					}
				}
				clear(entries) // keep no values alive while the loop goes on
				more = more || !w.done
			}
		}
	}
}

// A coldWalk goes through the entries of a shard in the order in which they would be
// evicted, perHold of them in each hold of the lock. It finds an entry that stays throughout
// exactly once, and may miss entries stored meanwhile.
//
// Eviction passes over entries that were used, so the walk goes through the order once
// for those without a mark, then for those with one, and so on. It goes on from the entry
// where it stopped. If that was removed meanwhile, it starts again with the first and
// skips what it has seen; as eviction takes the first too, little is repeated. Entries
// that are left at the end, or have no order, follow by slot number. If the shard
// was divided since, the walk keeps to the old order, and looks each key up in its new shard.
type coldWalk[K comparable, V any] struct {
	s    *shard[K, V]
	seen []uint64 // a bit for each slot that there was at the start
	done bool

	heat     uint8  // the pass under way takes entries with at most so many marks; above hottest it goes by slot
	last     uint32 // the entry where the pass stopped
	follows  bool   // last is set
	restarts int    // how often a pass may still start again
	slot     int    // the next one, when the walk goes by slot
}

// hottest is the highest heat of an entry.
const hottest = 3

// A walked is an entry as a coldWalk found it.
type walked[K comparable, V any] struct {
	key      K
	value    V
	deadline int64 // by TTL
	weight   uint32
	heat     uint8 // marks of the order
}

// maxRestarts bounds how often the passes of a walk start again.
const maxRestarts = 100

// newColdWalk pins the shard, which the caller must unpin.
func newColdWalk[K comparable, V any](s *shard[K, V]) *coldWalk[K, V] {
	s.pin()
	r := s.lock.RLock()
	n := len(s.entries)
	s.lock.RUnlock(r)
	return &coldWalk[K, V]{s: s, seen: make([]uint64, (n+63)/64), restarts: maxRestarts}
}

// next appends at most perHold entries to dst, and sets done if there are no more.
func (w *coldWalk[K, V]) next(dst []walked[K, V]) []walked[K, V] {
	if w.done {
		return dst
	}
	r := w.s.lock.RLock()
	defer w.s.lock.RUnlock(r)
	if w.s.turn.order != nil && w.heat <= hottest {
		return w.byOrder(dst)
	}
	return w.bySlot(dst)
}

func (w *coldWalk[K, V]) byOrder(dst []walked[K, V]) []walked[K, V] {
	for range perHold {
		i, ok := w.step()
		if !ok {
			w.heat++
			w.follows = false
			break
		}
		w.last, w.follows = i, true
		if w.s.turn.order.Heat(i) <= w.heat {
			dst = w.add(dst, i)
		}
	}
	return dst
}

// step returns the entry that follows in the order, and false at the end of a pass.
func (w *coldWalk[K, V]) step() (i uint32, ok bool) {
	switch {
	case !w.follows:
		return w.s.turn.order.First()
	case w.s.entries[w.last].live():
		return w.s.turn.order.After(w.last)
	case w.restarts == 0:
		return 0, false
	}
	w.restarts--
	return w.s.turn.order.First()
}

func (w *coldWalk[K, V]) bySlot(dst []walked[K, V]) []walked[K, V] {
	for range perHold {
		if w.slot == 64*len(w.seen) || w.slot == len(w.s.entries) {
			w.done = true
			return dst
		}
		dst = w.add(dst, uint32(w.slot))
		w.slot++
	}
	return dst
}

// add appends entry i to dst, unless that has been seen, or has expired.
func (w *coldWalk[K, V]) add(dst []walked[K, V], i uint32) []walked[K, V] {
	word, bit := i/64, uint64(1)<<(i%64)
	if int(word) >= len(w.seen) || w.seen[word]&bit != 0 {
		return dst
	}
	s, e := w.s, &w.s.entries[i]
	if !e.live() {
		return dst
	}
	ok := false
	if s.split { // its lock is held, and those of larger tables come below
		h := s.common.hasher.Hash(e.key)
		at, r := s.moved.rlock(h)
		defer at.lock.RUnlock(r)
		s = at
		i, ok = s.findLive(h, e.key)
	} else {
		ok = !s.checkExpired(i)
	}
	if ok {
		w.seen[word] |= bit
		dst = append(dst, s.walked(i))
	}
	return dst
}

// walked returns entry i.
func (s *shard[K, V]) walked(i uint32) walked[K, V] {
	e := &s.entries[i]
	return walked[K, V]{e.key, e.value, s.lives.cap(i, &e.deadline), s.turn.weight(i), s.turn.heat(i)}
}
