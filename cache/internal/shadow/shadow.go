package shadow

import (
	"sync/atomic"

	"github.com/pinwheel-cache/pinwheel/internal/eviction"
	"github.com/pinwheel-cache/pinwheel/internal/index"
)

// A shadow is a cache of hashes and deadlines, which evicts as the real cache does. It has room for
// as many entries as its limit. Several goroutines may call get at once; all other methods need
// exclusive access.
type shadow struct {
	index   index.Index
	order   eviction.Policy
	entries []entry
	free    uint32        // the first free entry, or the number of entries
	hits    atomic.Uint64 // the weights of all hits
}

// An entry is a key by its hash of 64 bits: two keys with the same hash would count as one.
type entry struct {
	hash     uint64
	deadline int64 // in a free entry, the next free one
}

// reset empties the shadow and gives it a limit and an empty order. It keeps the count of hits.
func (s *shadow) reset(limit int, order eviction.Policy) {
	s.index = index.New(limit)
	s.order = order
	s.order.Resize(limit)
	s.entries = make([]entry, limit)
	for i := range s.entries {
		s.entries[i].deadline = int64(i + 1)
	}
	s.free = 0
}

func (s *shadow) find(h uint64) (i uint32, ok bool) {
	home := s.index.Home(h)
	for m := home.Match(h); m != 0; m = m.Next() {
		if i := home.Slot(m); s.entries[i].hash == h {
			return i, true
		}
	}
	if home.Passed(h) {
		return s.index.FindPassed(h, func(i uint32) bool { return s.entries[i].hash == h })
	}
	return 0, false
}

// live is find, but does not find a key that has expired.
func (s *shadow) live(h uint64, now int64) (i uint32, ok bool) {
	i, ok = s.find(h)
	return i, ok && now < s.entries[i].deadline
}

// get reports whether it is a hit. It counts a hit by its weight, and marks the entry if mark is set.
func (s *shadow) get(h uint64, now int64, weight uint64, mark bool) (hit bool) {
	i, hit := s.live(h, now)
	if hit {
		s.hits.Add(weight)
	}
	if hit && mark {
		s.order.Mark(i)
	}
	return hit
}

// fill is set, unless the shadow has the key.
func (s *shadow) fill(h uint64, now, deadline int64) {
	if _, ok := s.live(h, now); !ok {
		s.set(h, deadline)
	}
}

func (s *shadow) set(h uint64, deadline int64) {
	i, ok := s.find(h)
	switch {
	case ok:
		s.order.Mark(i)
	case len(s.entries) == 0:
		return
	case int(s.free) < len(s.entries):
		i = s.free
		s.free = uint32(s.entries[i].deadline)
		s.index.Insert(h, i)
		s.order.Insert(i, h)
	default:
		for i, _ = s.order.Victim(); s.order.Promote(i, s.entries[i].hash); {
			i, _ = s.order.Victim()
		}
		s.index.Remove(s.entries[i].hash, i)
		s.index.Insert(h, i)
		s.order.Remove(i)
		s.order.Insert(i, h)
	}
	s.entries[i] = entry{h, deadline}
}

func (s *shadow) touch(h uint64, deadline int64) {
	if i, ok := s.find(h); ok {
		s.order.Mark(i)
		s.entries[i].deadline = deadline
	}
}

func (s *shadow) remove(h uint64) {
	if i, ok := s.find(h); ok {
		s.index.Remove(h, i)
		s.order.Remove(i)
		s.entries[i].deadline = int64(s.free)
		s.free = i
	}
}
