package ghost

import (
	"sync/atomic"

	"github.com/pinwheel-cache/pinwheel/internal/eviction"
	"github.com/pinwheel-cache/pinwheel/internal/index"
)

// A ghost is a cache of hashes and deadlines, which evicts as the cache does. It has room for
// as many entries as its limit. get may run concurrently with itself; all else needs exclusive
// access.
type ghost struct {
	index   index.Index
	order   eviction.Policy
	entries []entry
	free    uint32        // the first free entry, or the number of entries
	hits    atomic.Uint64 // each as many times as its weight
}

// An entry is a key by its hash of 64 bits: two keys with the same hash would count as one.
type entry struct {
	hash     uint64
	deadline int64 // in a free entry, the next free one
}

// reset empties the ghost and gives it a limit and an order, which is empty. Its hits
// stay.
func (g *ghost) reset(limit int, order eviction.Policy) {
	g.index = index.New(limit)
	g.order = order
	g.order.Resize(limit)
	g.entries = make([]entry, limit)
	for i := range g.entries {
		g.entries[i].deadline = int64(i + 1)
	}
	g.free = 0
}

func (g *ghost) find(h uint64) (i uint32, ok bool) {
	home := g.index.Home(h)
	for m := home.Match(h); m != 0; m = m.Next() {
		if i := home.Slot(m); g.entries[i].hash == h {
			return i, true
		}
	}
	if home.Passed(h) {
		return g.index.FindPassed(h, func(i uint32) bool { return g.entries[i].hash == h })
	}
	return 0, false
}

// live is find for keys that have not expired.
func (g *ghost) live(h uint64, now int64) (i uint32, ok bool) {
	i, ok = g.find(h)
	return i, ok && now < g.entries[i].deadline
}

// get reports and counts a hit, and then marks the entry if mark is set.
func (g *ghost) get(h uint64, now int64, weight uint64, mark bool) (hit bool) {
	i, hit := g.live(h, now)
	if hit {
		g.hits.Add(weight)
	}
	if hit && mark {
		g.order.Mark(i)
	}
	return hit
}

// fill is set of a key that is not there.
func (g *ghost) fill(h uint64, now, deadline int64) {
	if _, ok := g.live(h, now); !ok {
		g.set(h, deadline)
	}
}

func (g *ghost) set(h uint64, deadline int64) {
	i, ok := g.find(h)
	switch {
	case ok:
		g.order.Mark(i)
	case len(g.entries) == 0:
		return
	case int(g.free) < len(g.entries):
		i = g.free
		g.free = uint32(g.entries[i].deadline)
		g.index.Insert(h, i)
		g.order.Insert(i, h)
	default:
		for i, _ = g.order.Victim(); g.order.Spare(i, g.entries[i].hash); {
			i, _ = g.order.Victim()
		}
		g.index.Remove(g.entries[i].hash, i)
		g.index.Insert(h, i)
		g.order.Remove(i)
		g.order.Insert(i, h)
	}
	g.entries[i] = entry{h, deadline}
}

func (g *ghost) touch(h uint64, deadline int64) {
	if i, ok := g.find(h); ok {
		g.order.Mark(i)
		g.entries[i].deadline = deadline
	}
}

func (g *ghost) remove(h uint64) {
	if i, ok := g.find(h); ok {
		g.index.Remove(h, i)
		g.order.Remove(i)
		g.entries[i].deadline = int64(g.free)
		g.free = i
	}
}
