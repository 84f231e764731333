// Package hotkeys finds the keys that are looked up most.
//
// It runs the Space-Saving algorithm (Metwally, Agrawal and El Abbadi, "Efficient
// Computation of Frequent and Top-k Elements in Data Streams", ICDT 2005) on a sample
// of the stream. There is a fixed number of counters. A key without one takes over the
// counter with the least count and keeps that count, which bounds by how much the key
// is then overcounted. With n counters, a key with a share above 1/n of the sample
// always has a counter.
package hotkeys

import (
	"cmp"
	"container/heap"
	"math/rand/v2"
	"slices"
	"sync"
)

const (
	// One key in sampleEvery is counted. The others cost a random number.
	sampleEvery = 32

	// countersPerKey is the number of counters for each key that Top may return.
	// With n counters in all, the error of a share is at most 1/n.
	countersPerKey = 8
	minCounters    = 128

	// All counts are halved after halveAt keys per counter, so that recent keys
	// weigh more.
	halveAt = 64
)

// A Sketch counts keys. It is safe for concurrent use. Make one with [New].
type Sketch[K comparable] struct {
	keys int // the most that Top returns

	mu       sync.Mutex // guards the fields below
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

// Add counts a key if it is in the sample. The key must equal itself. Add never waits:
// a key that is added while another is being counted is left out of the sample.
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

// halve halves all counts. This keeps the order of the heap.
func (s *Sketch[K]) halve() {
	s.total /= 2
	for _, c := range s.counters {
		c.count /= 2
		c.over /= 2
	}
}

// A Key is a key and its share of the keys counted recently, from 0 to 1: a lower
// bound.
type Key[K comparable] struct {
	Key   K
	Share float64
}

// Top returns the hottest keys, the hottest first: at most the n of [New], and only
// keys that were certainly added.
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

// Close drops all keys, and ignores those added later.
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
	over  uint64 // how much of count may belong to other keys
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
