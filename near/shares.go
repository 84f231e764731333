package near

import (
	"container/list"
	"math"
	"sync"
	"sync/atomic"
)

// shares has loads that callers may join until some time.
type shares[K comparable] struct {
	next atomic.Int64 // 0, or no later than the end of the first: then the mutex is not needed before it
	mu   sync.Mutex   // guards what follows, and changes of next
	all  list.List    // of share[K]; all are open as long, so the first ends first
}

type share[K comparable] struct {
	key K
	end int64
}

// add adds a load that may be joined until end. The function that it returns takes it away.
func (s *shares[K]) add(key K, end func() int64) (ended func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.all.PushBack(share[K]{key, end()})
	s.setNext()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all.Remove(one) // it may be gone
		s.setNext()
	}
}

// endDue calls unshare for those whose time is over. Those that call it at the same time wait for that: they would join.
func (s *shares[K]) endDue(now func() int64, unshare func(key K) bool) {
	if next := s.next.Load(); next == math.MaxInt64 || now() < next {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for one := s.all.Front(); one != nil && now() >= one.Value.(share[K]).end; one = s.all.Front() {
		unshare(one.Value.(share[K]).key)
		s.all.Remove(one)
	}
	s.setNext()
}

// setNext sets next when all has changed. mu must be held.
func (s *shares[K]) setNext() {
	if one := s.all.Front(); one != nil {
		s.next.Store(one.Value.(share[K]).end)
	} else {
		s.next.Store(math.MaxInt64)
	}
}
