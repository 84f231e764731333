// Package slowkeys finds the keys whose loads took longest lately.
package slowkeys

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

const (
	most   = 10              // keys
	lately = 5 * time.Minute // as the page of package stats
)

// A Key is a key with its slowest load of late.
type Key[K comparable] struct {
	Key  K
	Took time.Duration
	At   time.Time // when the load ended
}

// Keys are the keys with the slowest loads. They are safe for concurrent use. The zero Keys
// are empty.
type Keys[K comparable] struct {
	mu     sync.Mutex
	slow   []Key[K] // the slowest first, each key once; at most most
	closed bool
}

// Add tells of a load that has ended. The key must equal itself.
func (s *Keys[K]) Add(key K, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	if i := slices.IndexFunc(s.slow, func(k Key[K]) bool { return k.Key == key }); i >= 0 {
		if took < s.slow[i].Took {
			return
		}
		s.slow = slices.Delete(s.slow, i, i+1)
	}
	i, _ := slices.BinarySearchFunc(s.slow, took, func(k Key[K], took time.Duration) int { return cmp.Compare(took, k.Took) })
	if i == most || s.closed {
		return
	}
	if len(s.slow) == most {
		s.slow = slices.Delete(s.slow, most-1, most)
	}
	s.slow = slices.Insert(s.slow, i, Key[K]{key, took, time.Now()})
}

// forget drops what is no longer of late. s.mu must be held.
func (s *Keys[K]) forget() {
	s.slow = slices.DeleteFunc(s.slow, func(k Key[K]) bool { return time.Since(k.At) > lately })
}

// Top returns the keys, the one with the slowest load first.
func (s *Keys[K]) Top() []Key[K] {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	return slices.Clone(s.slow)
}

// Close drops all keys, and those that are told later.
func (s *Keys[K]) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slow, s.closed = nil, true
}
