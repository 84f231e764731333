// Package hotkeys finds the keys that are asked for most.
//
// It is the Space-Saving algorithm (Metwally, Agrawal and El Abbadi, "Efficient
// Computation of Frequent and Top-k Elements in Data Streams", ICDT 2005) on a sample
// of the stream: of a fixed number of counters, a key that has none takes over the
// least, with its count, which is then the most that the key may be counted too high.
// A key with more than one part in as many as there are counters is never missing.
package hotkeys

import (
	"cmp"
	"container/heap"
	"math/rand/v2"
	"slices"
	"sync"
)

const (
	// sampleEvery is how many keys one is counted for. The others cost a random
	// number.
	sampleEvery = 32

	// countersPerKey is how many counters there are for each key asked for: the
	// error of a share is at most one part in their number.
	countersPerKey = 8
	minCounters    = 128

	// halveAt is a number of keys counted per counter at which all counts are
	// halved, so that they tell of what is hot of late.
	halveAt = 64
)

// A Sketch counts keys. It is safe for concurrent use. Make one with [New].
type Sketch[K comparable] struct {
	keys int // asked for

	mu       sync.Mutex // guards all that follows
	counters counters[K]
	byKey    map[K]*counter[K]
	total    uint64 // keys counted
	closed   bool
}

// New returns a sketch that finds the hottest n keys.
func New[K comparable](n int) *Sketch[K] {
	size := max(minCounters, n*countersPerKey)
	return &Sketch[K]{
		keys:     n,
		counters: make(counters[K], 0, size),
		byKey:    make(map[K]*counter[K], size),
	}
}

// Add counts a key, which must equal itself, if it is in the sample. It never waits:
// a key that comes while another is being counted is not in the sample.
func (s *Sketch[K]) Add(key K) {
	if rand.Uint32()%sampleEvery != 0 || !s.mu.TryLock() {
		return
	}
	if !s.closed {
		s.count(key)
	}
	s.mu.Unlock()
}

// count counts a key. It must be called with s.mu held.
func (s *Sketch[K]) count(key K) {
	if s.total >= uint64(cap(s.counters))*halveAt {
		s.halve()
	}
	s.total++
	c := s.byKey[key]
	switch {
	case c != nil:
	case len(s.counters) < cap(s.counters):
		c = &counter[K]{key: key}
		heap.Push(&s.counters, c)
		s.byKey[key] = c
	default:
		c = s.counters[0]
		delete(s.byKey, c.key)
		c.key, c.over = key, c.count
		s.byKey[key] = c
	}
	c.count++
	heap.Fix(&s.counters, c.place)
}

// halve halves all counts, which keeps their order.
func (s *Sketch[K]) halve() {
	s.total /= 2
	for _, c := range s.counters {
		c.count /= 2
		c.over /= 2
	}
}

// A Key is a key and the least share that it has of all keys counted of late.
type Key[K comparable] struct {
	Key   K
	Share float64
}

// Top returns the hottest keys, the hottest first: at most as many as New was asked
// for, and none that may not have come at all.
func (s *Sketch[K]) Top() []Key[K] {
	s.mu.Lock()
	defer s.mu.Unlock()
	var top []Key[K]
	for _, c := range s.counters {
		if c.count > c.over {
			top = append(top, Key[K]{c.key, float64(c.count-c.over) / float64(s.total)})
		}
	}
	slices.SortFunc(top, func(a, b Key[K]) int { return cmp.Compare(b.Share, a.Share) })
	return top[:min(len(top), s.keys)]
}

// Close forgets all keys, and those that are still to come.
func (s *Sketch[K]) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.counters, s.byKey = nil, nil
}

// A counter counts one key.
type counter[K comparable] struct {
	key   K
	count uint64
	over  uint64 // of count, what may not be the key's
	place int    // in the heap
}

// counters are a heap by count, the least on top.
type counters[K comparable] []*counter[K]

func (h counters[K]) Len() int           { return len(h) }
func (h counters[K]) Less(i, j int) bool { return h[i].count < h[j].count }

func (h counters[K]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *counters[K]) Push(c any) {
	c.(*counter[K]).place = len(*h)
	*h = append(*h, c.(*counter[K]))
}

// Pop is not used: a counter is taken over, never removed.
func (h *counters[K]) Pop() any { panic("hotkeys: a counter is never removed") }
