// This file gathers the loads of single keys that miss within the option Batch, so that one call of
// LoadMany loads them. It comes between join.go and run.go.

package cache

import (
	"context"
	"sync"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache/internal/flight"
)

// A gatherer has the batch that loads may still join.
type gatherer[K comparable, V any] struct {
	window time.Duration  // the option Batch
	mu     sync.Mutex     // guards what follows, and the batch of first; above the locks of shards
	first  *load[K, V]    // of the batch that is open; nil if none is
	keys   map[K]struct{} // of its loads
}

// assign is Cache.assign for a caller whose load, if it begins one, joins the open batch or opens one.
// The caller waits for a batch that it has joined as for the load of another caller. One within a fetch
// joins none: the batch of a stranger may need what that fetch loads.
func (g *gatherer[K, V]) assign(c *Cache[K, V], a *assignment[K, V], key K, who *caller) {
	if len(who.Inside) > 0 {
		c.assign(a, key, who, nil)
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	first := g.first
	if _, twice := g.keys[key]; twice || first != nil && !first.flight.Join() {
		first = nil // its load of the key is stale, or all its callers have left
	}
	c.assign(a, key, who, first)
	switch {
	case a.duty != lead && first != nil:
		first.flight.Leave(context.Canceled, context.Canceled)
	case a.duty != lead:
	case first != nil:
		first.batch = append(first.batch, a.load)
		g.keys[key] = struct{}{}
		a.duty = follow
	default:
		a.load.gathers = true
		a.load.batch = []*load[K, V]{a.load}
		g.first, g.keys = a.load, map[K]struct{}{key: {}}
	}
}

// acquire waits for the permit of a batch whose first load is first. Loads may join it until the time is
// over, or its callers have left, and while it waits for the permit.
func (g *gatherer[K, V]) acquire(first *load[K, V], rules *flight.Rules) error {
	defer g.close(first)
	timer := time.NewTimer(g.window)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-first.flight.Done():
	}
	return rules.Acquire(first.flight)
}

// close ends the batch of first, which nobody can join afterwards.
func (g *gatherer[K, V]) close(first *load[K, V]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.first == first {
		g.first, g.keys = nil, nil
	}
}
