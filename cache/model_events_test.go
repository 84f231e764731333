package cache

import (
	"maps"
	"sync"
	"time"

	"github.com/pinwheel-cache/pinwheel/stats"
	"pgregory.net/rapid"
)

// modelTTLs are round ones, those about a nanosecond, a tick or a second, and those at the
// borders of the ring.
func modelTTLs(tick time.Duration) *rapid.Generator[time.Duration] {
	return rapid.OneOf(
		rapid.SampledFrom([]time.Duration{0, 1, time.Millisecond, 15 * time.Millisecond, time.Second, 20 * time.Second, time.Hour, 100 * time.Hour}),
		rapid.SampledFrom([]time.Duration{tick - 1, tick, tick + 1, 3*tick + 7, 60 * tick, ringOfMany * tick, 3000 * tick}),
		rapid.Custom(func(t *rapid.T) time.Duration {
			unit := rapid.SampledFrom([]time.Duration{2, time.Microsecond, 10 * time.Millisecond, 100 * time.Millisecond}).Draw(t, "unit")
			return unit*time.Duration(rapid.IntRange(1, 50).Draw(t, "n")) + time.Duration(rapid.IntRange(-1, 1).Draw(t, "ns"))
		}),
	)
}

// sleepTo sleeps to the end of an entry, give or take a nanosecond, and returns its key: the first
// from key on that has one, or -1.
func (m *modelCache) sleepTo(t *rapid.T, key int) int {
	for range modelKeys {
		if end, ok := m.end(m.entries[key]); ok && m.live(key) {
			time.Sleep(time.Until(end) + time.Duration(rapid.IntRange(-1, 1).Draw(t, "ns")))
			m.settleEvents(t, -1, Expired)
			return key
		}
		key = (key + 1) % modelKeys
	}
	return -1
}

// told is what all calls of OnRemove amount to.
type told struct {
	mu     sync.Mutex
	last   map[int]int // by key: the last value
	counts map[Cause]uint64
}

// note notes a call. The values of a key are reported in the order in which they were
// stored.
func (o *told) note(t *rapid.T, e Event[int, int]) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.last == nil {
		o.last, o.counts = map[int]int{}, map[Cause]uint64{}
	}
	if e.Value <= o.last[e.Key] {
		t.Errorf("%+v was reported after value %d", e, o.last[e.Key])
	}
	o.last[e.Key] = e.Value
	o.counts[e.Cause]++
}

// check compares the calls with the statistics.
func (o *told) check(t *rapid.T, r stats.Removals) {
	o.mu.Lock()
	defer o.mu.Unlock()
	counted := map[Cause]uint64{Expired: r.Expired, Evicted: r.Evicted, Deleted: r.Deleted, Replaced: r.Replaced, Cleared: r.Cleared}
	maps.DeleteFunc(counted, func(_ Cause, n uint64) bool { return n == 0 })
	if !maps.Equal(counted, o.counts) {
		t.Fatalf("counted %v, reported %v", counted, o.counts)
	}
}
