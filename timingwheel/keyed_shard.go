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
}

type keyed[K comparable, V any] struct {
	key   K
	value V
}

func (s *keyedShard[K, V]) init(w *TimingWheel[K, V], i int) {
	s.shard.init(&w.wheel, i, s)
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
	if !s.owner.quota.acquire() {
		s.counts.refused++
		return 0, ErrFull
	}
	if s.full() {
		s.grow()
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
	s.owner.quota.release(1)
}

// visit moves the shard on to a tick. The driver calls it.
func (s *keyedShard[K, V]) visit(tick int64) (done bool) {
	s.mu.Lock()
	defer s.unlock()
	return s.advance(tick, func(uint32) int64 { return ring.Hold })
}

// callNext calls the callback of the timer that claimNext claims. It reports whether there was
// one.
func (s *keyedShard[K, V]) callNext(upTo int64) bool {
	t, ok := s.claimNext(upTo)
	if ok {
		s.wheel.execute(t.key, t.value)
	}
	return ok
}

func (s *keyedShard[K, V]) claim(i uint32) { s.remove(s.wheel.hasher.Hash(s.entries[i].key), i) }

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
	old := s.slab
	s.clear()
	return old, nil
}

// close removes all timers and refuses new ones.
func (s *keyedShard[K, V]) close() {
	s.mu.Lock()
	defer s.unlock()
	s.closed = true
	s.clear()
}

// clear removes all timers, and gives the ring and the arrays back.
func (s *keyedShard[K, V]) clear() {
	s.counts.removed += uint64(s.ring.Len())
	s.owner.quota.release(s.ring.Len())
	s.renew()
	s.index = index.New(0)
}

// fit makes room for n timers. There must not be more.
func (s *keyedShard[K, V]) fit(n int) {
	s.resize(n, func(keyed[K, V], uint32) {})
	s.index = index.New(n)
	for i := range s.entries {
		if s.live(uint32(i)) {
			s.index.Insert(s.wheel.hasher.Hash(s.entries[i].key), uint32(i))
		}
	}
}
