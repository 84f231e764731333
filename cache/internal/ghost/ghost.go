// Package ghost estimates what a cache would do with another limit or policy.
//
// It keeps four caches without values: of half the limit, the same and double, and of the
// same limit with the other policy. It shows them the gets and sets of a sample of the
// keys, with limits as much smaller as the sample. That a cache scaled down so behaves like the whole is the finding of
// SHARDS (Waldspurger, Park, Garthwaite and Ahmad, "Efficient MRC Construction with
// SHARDS", FAST 2015). The keys in the sample are chosen by hash, so that each is
// seen always or never.
//
// Which keys those are moves all four hit ratios alike. So it is the differences of
// their hits that tell something, as parts of all gets that the cache had: how many of
// those are in the sample is a matter of where a few hot keys are, which hit always.
package ghost

import (
	"sync/atomic"

	"github.com/pinwheel-cache/pinwheel/internal/biased"
	"github.com/pinwheel-cache/pinwheel/lru"
)

// sampleSize is how many entries the ghost of the same limit has at most.
const sampleSize = 1024

// The ghosts, in the order in which they are kept.
const (
	half = iota
	same
	double
	other // of the same limit, with the other policy
	kinds
)

// A Ghosts is four caches without values. It is safe for concurrent use. Make one
// with [New].
type Ghosts struct {
	orders    [kinds]func() lru.Policy // make those of the ghosts
	threshold atomic.Uint64            // keys with a mixed hash of 32 bits below it are in the sample
	gets      atomic.Uint64            // each as many times as weight

	lock   biased.Lock // for reading: gets, which only mark
	weight uint64      // how many gets one in the sample stands for, times sampleSize
	ghosts [kinds]ghost
}

// New returns the ghosts of a cache with a limit. They evict as the orders do that order
// makes, which are empty, and the one with the other policy as those that another makes.
func New(limit int, order, another func() lru.Policy) *Ghosts {
	g := &Ghosts{orders: [kinds]func() lru.Policy{half: order, same: order, double: order, other: another}}
	g.Resize(limit)
	return g
}

// Resize empties the ghosts and gives them the limits that go with limit. If that is
// 0, they see nothing from now on.
func (g *Ghosts) Resize(limit int) {
	sample := min(limit, sampleSize)
	g.lock.Lock()
	defer g.lock.Unlock()
	for i, limit := range [kinds]int{half: sample / 2, same: sample, double: sample * 2, other: sample} {
		g.ghosts[i].reset(limit, g.orders[i]())
	}
	g.weight = uint64(max(limit, sampleSize))
	g.threshold.Store(uint64(float64(sample) / float64(max(limit, 1)) * (1 << 32)))
}

// Sees reports whether a key with hash h is in the sample. It is inlined, so that
// most keys cost no more than this.
func (g *Ghosts) Sees(h uint64) bool { return h*golden>>32 < g.threshold.Load() }

const golden = 0x9E3779B97F4A7C15 // 2⁶⁴ divided by the golden ratio

// Get is a get of a key in the sample at a time. It reports whether all ghosts had it. If
// one had not and the cache does, Fill is to follow.
func (g *Ghosts) Get(h uint64, now int64) (all bool) {
	r := g.lock.RLock()
	defer g.lock.RUnlock(r)
	g.gets.Add(g.weight)
	hit := g.ghosts[same].get(h, now, g.weight, true)
	all = hit
	for _, i := range [...]int{half, double, other} {
		// What the cache misses the program sets, and that marks it: once is enough.
		all = g.ghosts[i].get(h, now, g.weight, hit) && all
	}
	return all
}

// Fill stores a key in the sample, which the cache has with a deadline, in the ghosts
// that do not have it at a time. There the get would have been a miss, and the program
// would have set the key.
func (g *Ghosts) Fill(h uint64, now, deadline int64) {
	g.each(func(g *ghost) { g.fill(h, now, deadline) })
}

// Set is a set of a key in the sample with a deadline.
func (g *Ghosts) Set(h uint64, deadline int64) { g.each(func(g *ghost) { g.set(h, deadline) }) }

// Touch gives a key in the sample another deadline.
func (g *Ghosts) Touch(h uint64, deadline int64) { g.each(func(g *ghost) { g.touch(h, deadline) }) }

// Remove removes a key in the sample.
func (g *Ghosts) Remove(h uint64) { g.each(func(g *ghost) { g.remove(h) }) }

// Clear removes all keys.
func (g *Ghosts) Clear() {
	g.lock.Lock()
	defer g.lock.Unlock()
	for i := range g.ghosts {
		g.ghosts[i].reset(len(g.ghosts[i].entries), g.orders[i]())
	}
}

// each calls a function with each of the ghosts, which has them for itself.
func (g *Ghosts) each(f func(*ghost)) {
	g.lock.Lock()
	for i := range g.ghosts {
		f(&g.ghosts[i])
	}
	g.lock.Unlock()
}

// Counts are estimates of the gets of a cache, and of those that each ghost would have
// answered, as if they saw all keys.
type Counts struct{ Gets, Half, Same, Double, OtherPolicy uint64 }

// Counts returns the counts since the ghosts were made.
func (g *Ghosts) Counts() Counts {
	hits := func(i int) uint64 { return g.ghosts[i].hits.Load() / sampleSize }
	// The hits before the gets, of which there are not to be fewer.
	c := Counts{Half: hits(half), Same: hits(same), Double: hits(double), OtherPolicy: hits(other)}
	c.Gets = g.gets.Load() / sampleSize
	return c
}
