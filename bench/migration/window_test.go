package migration

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// twoMaps counts requests of clients in windows of time, as the local counter of httprate does:
// in a map for the latest window and one for the window before it, under one mutex.
type twoMaps struct {
	length           time.Duration
	mu               sync.Mutex
	window           time.Time // the latest
	latest, previous map[string]int
}

func newTwoMaps(length time.Duration) *twoMaps {
	return &twoMaps{length: length, latest: make(map[string]int), previous: make(map[string]int)}
}

func (m *twoMaps) Add(client string, window time.Time, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.window.Equal(window) {
		if !m.window.Equal(window.Add(-m.length)) {
			clear(m.latest)
		}
		clear(m.previous)
		m.latest, m.previous = m.previous, m.latest
		m.window = window
	}
	m.latest[client] += n
}

func (m *twoMaps) Counts(client string, window time.Time) (latest, previous int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.window.Equal(window):
		return m.latest[client], m.previous[client]
	case m.window.Equal(window.Add(-m.length)):
		return 0, m.latest[client]
	}
	return 0, 0
}

// oneCache is the same with the window in the key. Nothing is swapped or cleared: a count expires
// when the window after its own has ended.
type oneCache struct {
	length time.Duration
	counts *cache.Cache[inWindow, int]
}

type inWindow struct {
	client string
	window int64 // Unix nanoseconds: by == two time.Time of one moment may differ
}

func newOneCache(length time.Duration) *oneCache {
	return &oneCache{length, cache.Must(cache.Options[inWindow, int]{
		Name:   "requests",
		Expire: 2 * length, // from the first request in the window on
	})}
}

func (c *oneCache) Add(client string, window time.Time, n int) {
	c.counts.Compute(inWindow{client, window.UnixNano()}, func(count int, _ bool) (int, cache.Op) {
		return count + n, cache.OpSet
	})
}

func (c *oneCache) Counts(client string, window time.Time) (latest, previous int) {
	latest, _ = c.counts.Get(inWindow{client, window.UnixNano()})
	previous, _ = c.counts.Get(inWindow{client, window.Add(-c.length).UnixNano()})
	return latest, previous
}

// Both have the same counts, to the last moment of each window. Afterwards the maps keep what they
// have until the next request.
func TestTwoMapsPair(t *testing.T) {
	type counter interface {
		Add(client string, window time.Time, n int)
		Counts(client string, window time.Time) (latest, previous int)
	}
	const length = time.Minute
	synctest.Test(t, func(t *testing.T) {
		steps := func(c counter, tr *trace) {
			window := func() time.Time { return time.Now().Truncate(length) }
			time.Sleep(time.Until(window().Add(length)))
			c.Add("ann", window(), 1)
			time.Sleep(length - 1)
			c.Add("ann", window(), 2)
			c.Add("bob", window(), 1)
			tr.add(c.Counts("ann", window()))
			time.Sleep(time.Nanosecond)
			tr.add(c.Counts("ann", window())) // the next window has begun
			c.Add("ann", window(), 4)
			time.Sleep(length - 1)
			tr.add(c.Counts("ann", window()))
			tr.add(c.Counts("bob", window()))
			time.Sleep(time.Nanosecond)
			tr.add(c.Counts("ann", window()))
			time.Sleep(length)
			tr.add(c.Counts("ann", window()))
		}
		two, one := newTwoMaps(length), newOneCache(length)
		same[counter](t, 6, two, one, steps)
		time.Sleep(length)
		synctest.Wait()
		want(t, "two maps: counts that nobody needs", len(two.latest)+len(two.previous), 3)
		want(t, "one cache: counts that nobody needs", one.counts.Len(), 0)
	})
}
