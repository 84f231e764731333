// Package hotkeys finds the keys that were looked up most often in the last half minute or so.
//
// It runs the Space-Saving algorithm (Metwally, Agrawal and El Abbadi, "Efficient
// Computation of Frequent and Top-k Elements in Data Streams", ICDT 2005) on a sample
// of the stream. There is a fixed number of counters. A key without a counter takes over the
// one with the least count, and that count with it: by no more is the key overcounted. With n
// counters, a key with a share above 1/n of the sample always has a counter.
//
// All counts are halved every ten seconds, so that a lookup half a minute ago weighs an
// eighth of one now. The sample has all keys of a slow stream, and one in 32 of a fast one. A key
// in the sample counts for those that the sample leaves out too.
//
// The strings in the keys of all counters take at most 8 MB: a key with more than its part of
// that gets no counter, and so is never among the hottest.
package hotkeys

import (
	"cmp"
	"container/heap"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// At least one key in maxEvery is counted. The others only cost a random number.
	maxEvery = 32

	// sampleSize is how many keys should be counted between two halvings.
	sampleSize = 4096

	// countersPerKey is how many counters there are for each key that Top may return.
	// With n counters in all, the error of a share is at most 1/n.
	countersPerKey = 8
	minCounters    = 128

	halfLife = 10 * time.Second
)

// A Sketch counts keys. It is safe for concurrent use. Make one with [New].
type Sketch[K comparable] struct {
	keys  int           // the most that Top returns
	bytes int           // the most that the strings in a key have; 0 if keys have no strings
	every atomic.Uint32 // one key in so many is counted; changes under mu

	mu       sync.Mutex // guards the fields below
	counters counters[K]
	byKey    map[K]*counter[K]
	total    uint64 // the sum of all weights
	sampled  int    // keys counted since the last halving
	halved   time.Time
	closed   bool
}

// New returns a sketch that finds the hottest n keys.
func New[K comparable](n int) *Sketch[K] {
	size := max(minCounters, n*countersPerKey)
	s := &Sketch[K]{
		keys:     n,
		counters: make(counters[K], 0, size),
		byKey:    make(map[K]*counter[K], size),
		halved:   time.Now(),
	}
	if hasStrings(reflect.TypeFor[K]()) {
		s.bytes = maxBytes / size
	}
	s.every.Store(1)
	return s
}

// Add counts a key if it is in the sample. The key must equal itself. Add never waits:
// while another key is being counted, it leaves this one out of the sample.
func (s *Sketch[K]) Add(key K) {
	every := s.every.Load()
	if every > 1 && rand.Uint32()%every != 0 || !s.mu.TryLock() {
		return
	}
	if !s.closed {
		s.halve(time.Now())
		s.count(key, uint64(every))
	}
	s.mu.Unlock()
}

// count counts a key with a weight. s.mu must be held.
func (s *Sketch[K]) count(key K, weight uint64) {
	if s.sampled++; s.sampled >= sampleSize && s.every.Load() < maxEvery {
		s.every.Store(s.every.Load() * 2)
		s.sampled = 0
	}
	s.total += weight
	c := s.byKey[key]
	switch {
	case c != nil:
	case s.bytes > 0 && bytesOf(reflect.ValueOf(key)) > s.bytes:
		return
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
	c.count += weight
	heap.Fix(&s.counters, c.place)
}

// halve halves all counts once for each half-life that has ended since it last did. That keeps the
// order of the heap. s.mu must be held.
func (s *Sketch[K]) halve(now time.Time) {
	times := int(now.Sub(s.halved) / halfLife)
	if times <= 0 {
		return
	}
	s.halved = s.halved.Add(time.Duration(times) * halfLife)
	if every := s.every.Load(); every > 1 && s.sampled < sampleSize/2/times {
		s.every.Store(every / 2)
	}
	s.sampled = 0
	times = min(times, 63)
	s.total >>= times
	for _, c := range s.counters {
		c.count >>= times
		c.over >>= times
	}
}

// A Key is a key and a lower bound of its share in recent lookups, from 0 to 1.
type Key[K comparable] struct {
	Key   K
	Share float64
}

// Top returns the hottest keys, the hottest first. They are at most the n of [New], and all of them
// were certainly added.
func (s *Sketch[K]) Top() []Key[K] {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.halve(time.Now())
	top := slices.Grow([]Key[K](nil), min(s.keys, len(s.counters))) // rather than all, to sort them
	for _, c := range s.counters {
		k := Key[K]{c.key, s.share(c)}
		i, _ := slices.BinarySearchFunc(top, k, func(a, b Key[K]) int { return cmp.Compare(b.Share, a.Share) })
		if c.count <= c.over || i == s.keys {
			continue
		}
		top = slices.Insert(top[:min(len(top), s.keys-1)], i, k)
	}
	return top
}

// Hottest returns the share of the hottest key, as Top does, or 0 if there is none.
func (s *Sketch[K]) Hottest() (share float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.halve(time.Now())
	for _, c := range s.counters {
		if c.count > c.over {
			share = max(share, s.share(c))
		}
	}
	return share
}

func (s *Sketch[K]) share(c *counter[K]) float64 {
	return float64(c.count-c.over) / float64(s.total)
}

// Close drops all keys. Keys that are added later are ignored.
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

// counters are a heap with the least count on top.
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

// Pop is never called: counters are taken over, but not removed.
func (h *counters[K]) Pop() any { panic("hotkeys: a counter is never removed") }
