package timingwheel

import (
	"github.com/pinwheel-cache/pinwheel/internal/index"
	"github.com/pinwheel-cache/pinwheel/timingwheel/ring"
)

// A keyedShard is a shard whose timers are found by key. mu also guards the index,
// which has exactly the live timers, each under the hash of its key.
type keyedShard[K comparable, V any] struct {
	index index.Index
	shard[keyed[K, V]]
	wheel *TimingWheel[K, V]
	sink  uint64 // of no meaning: what prefetch read
}

type keyed[K comparable, V any] struct {
	key   K
	value V
}

func (s *keyedShard[K, V]) init(w *TimingWheel[K, V], i int) {
	s.shard.init(&w.wheel, i)
	s.wheel = w
	s.index = index.New(0)
}

// find returns the task number of a key.
func (s *keyedShard[K, V]) find(h uint64, key K) (uint32, bool) {
	home := s.index.Home(h)
	for m := home.Match(h); m != 0; m = m.Next() {
		if i := home.Slot(m); s.entries[i].key == key {
			return i, true
		}
	}
	if home.Passed(h) {
		return s.index.FindPassed(h, func(i uint32) bool { return s.entries[i].key == key })
	}
	return 0, false
}

// put sets the timer of a key. It returns the tick by which the driver has to be
// awake.
func (s *keyedShard[K, V]) put(h uint64, key K, value V, wait span) (tick int64, err error) {
	if s.closed {
		return 0, ErrClosed
	}
	if i, found := s.find(h, key); found {
		s.entries[i].value = value
		s.counts.moved++
		return s.set(i, wait), nil
	}
	if !s.wheel.quota.acquire() {
		s.counts.refused++
		return 0, ErrFull
	}
	if s.full() {
		s.resizeSlab(max(minSlab, 2*len(s.entries)))
	}
	i := s.add(keyed[K, V]{key, value})
	s.index.Insert(h, i)
	s.counts.started++
	return s.set(i, wait), nil
}

// move changes when timer i is due, if found. It returns the tick by which the driver has to be
// awake, or never.
func (s *keyedShard[K, V]) move(i uint32, found bool, wait span) (tick int64, err error) {
	switch {
	case s.closed:
		return never, ErrClosed
	case !found:
		return never, nil
	}
	s.counts.moved++
	return s.set(i, wait), nil
}

// removeKey removes the timer of a key, if there is one.
func (s *keyedShard[K, V]) removeKey(h uint64, key K) (found bool, err error) {
	if s.closed {
		return false, ErrClosed
	}
	i, found := s.find(h, key)
	if found {
		s.remove(h, i)
		s.counts.removed++
		s.maybeShrink()
	}
	return found, nil
}

// remove removes timer i, whose key has hash h, from the shard.
func (s *keyedShard[K, V]) remove(h uint64, i uint32) {
	s.index.Remove(h, i)
	s.drop(i)
	s.wheel.quota.release(1)
}

// visit moves the shard on to a tick. The driver calls it.
func (s *keyedShard[K, V]) visit(tick int64) (done bool) {
	s.mu.Lock()
	defer s.unlock()
	return s.advance(tick, func(uint32) int64 { return ring.Hold })
}

// shrink frees memory if many timers have gone, and reports whether it did.
func (s *keyedShard[K, V]) shrink(tick int64) bool {
	s.mu.Lock()
	defer s.unlock()
	done := s.freeMemory(tick)
	s.shrinkAfter(tick) // if it is empty, and keeps its ring for now
	return done
}

// freeMemory is shrink with the lock held, and requests no visit.
func (s *keyedShard[K, V]) freeMemory(tick int64) bool {
	if s.spent(tick) {
		s.clear()
		return true
	}
	return s.maybeShrink()
}

// callNext claims the timer that has been due for longest, at the tick upTo at the latest, and calls its
// callback. It reports whether there was one. Until the claim the timer can be removed.
func (s *keyedShard[K, V]) callNext(upTo int64) bool {
	now := s.clock.now()
	s.mu.Lock()
	s.prefetch(s.ring.HeldAhead())
	if _, due, ok := s.ring.Oldest(); !ok || due > upTo {
		s.mu.Unlock()
		return false
	}
	i, due, _ := s.ring.Take()
	t := s.entries[i]
	s.remove(s.wheel.hasher.Hash(t.key), i)
	s.fired(due, now)
	tick := s.clock.ticks(now)
	if s.clock.slow() {
		s.freeMemory(tick)
	}
	visit := s.shrinkAfter(tick)
	more := s.ring.Held() > 0
	s.unlock()
	if more {
		s.wheel.more()
	}
	s.wheel.wakeBy(visit)
	s.wheel.execute(t.key, t.value)
	return true
}

// prefetch reads what the removal of some timers needs, for all of them at once: first their
// keys, and then the index.
func (s *keyedShard[K, V]) prefetch(tasks []uint32) {
	var hashes [ring.Lookahead]uint64
	for n, i := range tasks {
		hashes[n] = s.wheel.hasher.Hash(s.entries[i].key)
	}
	for _, h := range hashes[:len(tasks)] {
		s.sink += s.index.Prefetch(h)
	}
}

// takeAll removes all timers and returns them, for Drain. It fails after Stop.
func (s *keyedShard[K, V]) takeAll() (slab[keyed[K, V]], error) {
	s.mu.Lock()
	defer s.unlock()
	if s.closed {
		return slab[keyed[K, V]]{}, ErrClosed
	}
	return s.clear(), nil
}

// close removes all timers and refuses new ones.
func (s *keyedShard[K, V]) close() {
	s.mu.Lock()
	defer s.unlock()
	s.closed = true
	s.clear()
}

// clear removes all timers and returns them. mu must be held.
func (s *keyedShard[K, V]) clear() slab[keyed[K, V]] {
	old := s.renew()
	s.index = index.New(0)
	s.counts.removed += uint64(old.ring.Len())
	s.wheel.quota.release(old.ring.Len())
	return old
}

// maybeShrink frees memory if there are few timers for the arrays.
func (s *keyedShard[K, V]) maybeShrink() bool {
	if s.walks != 0 || !s.sparse() {
		return false
	}
	s.resizeSlab(max(minSlab, 2*s.ring.Len()))
	return true
}

// resizeSlab makes room for n timers. There must not be more than n.
func (s *keyedShard[K, V]) resizeSlab(n int) {
	s.resize(n, func(keyed[K, V], uint32) {})
	s.index = index.New(n)
	for i := range s.entries {
		if s.live(uint32(i)) {
			s.index.Insert(s.wheel.hasher.Hash(s.entries[i].key), uint32(i))
		}
	}
}

// walk adds n to the number of iterations in progress. During an iteration the shard
// may grow, but no timer changes its number.
func (s *keyedShard[K, V]) walk(n int) {
	s.mu.Lock()
	s.walks += n
	s.maybeShrink()
	s.mu.Unlock()
}
