package acceptance

import (
	"slices"
	"strings"
	"sync"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// Event returns an event.
func Event(key string, value int, cause cache.Cause) cache.Event[string, int] {
	return cache.Event[string, int]{Key: key, Value: value, Cause: cause}
}

// A Recorder keeps the events that its Add, an OnRemove, is told.
type Recorder[K comparable, V any] struct {
	mu     sync.Mutex
	events []cache.Event[K, V]
}

// Add keeps an event.
func (r *Recorder[K, V]) Add(e cache.Event[K, V]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// Take returns the events since the last Take, after all callbacks of the bubble
// have run.
func (r *Recorder[K, V]) Take() []cache.Event[K, V] {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	events := r.events
	r.events = nil
	return events
}

// WantEvents compares the events since the last look with want. Only the order
// within a key counts.
func WantEvents(t rapid.TB, r *Recorder[string, int], want ...cache.Event[string, int]) {
	t.Helper()
	byKey := func(a, b cache.Event[string, int]) int { return strings.Compare(a.Key, b.Key) }
	got := r.Take()
	slices.SortStableFunc(got, byKey)
	slices.SortStableFunc(want, byKey)
	if !slices.Equal(got, want) {
		t.Fatalf("events %v, want %v", got, want)
	}
}
