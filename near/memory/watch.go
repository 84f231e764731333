// This file has the source: who watches the store, and what they are told.

package memory

import (
	"context"
	"slices"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
)

// A seat is a watcher in its place. No two are equal.
type seat struct{ near.Watcher }

// open says that all changes from now on are told.
func (one *seat) open() {
	one.ChangedAll()
	one.Current(time.Now())
}

// Watch tells w of changes until ctx ends.
func (s *Store) Watch(ctx context.Context, w near.Watcher) {
	one := &seat{w}
	s.join(one)
	defer s.leave(one)
	beat := time.NewTicker(near.MaxLag(w) / 4)
	defer beat.Stop()
	for {
		select {
		case <-beat.C:
			s.vouch(one)
		case <-ctx.Done():
			return
		}
	}
}

// WaitFor returns when n caches watch the store. A cache begins to in a goroutine of its own, and until
// it does it keeps each value for its MaxLag, as it is told nothing. In a bubble of testing/synctest
// synctest.Wait does the same.
func (s *Store) WaitFor(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.seats) < n {
		s.joined.Wait()
	}
}

func (s *Store) join(one *seat) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seats = append(s.seats, one)
	if s.failure == nil {
		one.open()
	}
	s.joined.Broadcast()
}

func (s *Store) leave(one *seat) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seats = slices.DeleteFunc(s.seats, func(other *seat) bool { return other == one })
}

// vouch says that every change before now was told, as it is: under the lock.
func (s *Store) vouch(one *seat) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure == nil {
		one.Current(time.Now())
	}
}

// tell says that a key has changed. The lock must be held.
func (s *Store) tell(key string) {
	for _, one := range s.seats {
		one.Changed(key)
	}
}
