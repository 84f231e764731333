package after

import (
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// OneCache counts requests of clients in windows of time, with the window in the key. Nothing is
// swapped or cleared: a count expires when the window after its own has ended.
type OneCache struct {
	length time.Duration
	counts *cache.Cache[inWindow, int]
}

type inWindow struct {
	client string
	window int64 // Unix nanoseconds: by == two time.Time of one moment may differ
}

func NewOneCache(length time.Duration) *OneCache {
	return &OneCache{length, cache.Must(cache.Options[inWindow, int]{
		Name:   "requests",
		Expire: 2 * length, // from the first request in the window on
	})}
}

func (c *OneCache) Add(client string, window time.Time, n int) {
	c.counts.Compute(inWindow{client, window.UnixNano()}, func(count int, _ bool) (int, cache.Op) {
		return count + n, cache.OpSet
	})
}

func (c *OneCache) Counts(client string, window time.Time) (latest, previous int) {
	latest, _ = c.counts.Get(inWindow{client, window.UnixNano()})
	previous, _ = c.counts.Get(inWindow{client, window.Add(-c.length).UnixNano()})
	return latest, previous
}
