// Package shadow estimates what a cache would do with another limit or policy.
//
// It keeps four shadow caches, which have no values: with half the limit, the same and double,
// and with the same limit and the other policy. They see the gets and sets of a sample of the
// keys, and their limits are reduced in the same proportion. A cache scaled down in this way
// behaves like the whole: see SHARDS (Waldspurger, Park, Garthwaite and Ahmad, "Efficient MRC
// Construction with SHARDS", FAST 2015). The hash of a key decides whether it is in the
// sample, so a key is seen always or never.
//
// The few hottest keys, which always hit, may be in the sample or not. That changes all four hit
// ratios alike. So use only the differences between the hits, divided by all gets of the cache.
package shadow

import (
	"sync/atomic"

	"github.com/pinwheel-cache/pinwheel/internal/biased"
	"github.com/pinwheel-cache/pinwheel/internal/eviction"
)

// sampleSize is the most entries that the shadow with the same limit has.
const sampleSize = 1024

// The indices of the shadows in [Caches].
const (
	half = iota
	same
	double
	other // with the same limit and the other policy
	kinds
)

// Caches are the four shadows of a cache. They are safe for concurrent use. Make them
// with [New].
type Caches struct {
	orders    [kinds]func() eviction.Policy // make the orders of the shadows
	threshold atomic.Uint64                 // keys with a mixed hash of 32 bits below it are in the sample
	gets      atomic.Uint64                 // each counts as many times as weight says

	lock   biased.Lock // gets lock it for reading, as they only mark
	weight uint64      // how many gets each get in the sample stands for, times sampleSize
	caches [kinds]shadow
}

// New returns the shadows of a cache with a limit. order makes an empty order of the cache's
// policy, and another makes one of the other policy.
func New(limit int, order, another func() eviction.Policy) *Caches {
	c := &Caches{orders: [kinds]func() eviction.Policy{half: order, same: order, double: order, other: another}}
	c.Resize(limit)
	return c
}

// Resize empties the shadows and gives them limits in proportion to the cache's limit. With a
// limit of 0 they see nothing.
func (c *Caches) Resize(limit int) {
	sample := min(limit, sampleSize)
	c.lock.Lock()
	defer c.lock.Unlock()
	for i, limit := range [kinds]int{half: sample / 2, same: sample, double: sample * 2, other: sample} {
		c.caches[i].reset(limit, c.orders[i]())
	}
	c.weight = uint64(max(limit, sampleSize))
	c.threshold.Store(uint64(float64(sample) / float64(max(limit, 1)) * (1 << 32)))
}

// Sees reports whether a key with hash h is in the sample. It is inlined, so that
// most keys cost no more than this.
func (c *Caches) Sees(h uint64) bool { return h*golden>>32 < c.threshold.Load() }

const golden = 0x9E3779B97F4A7C15 // 2⁶⁴ divided by the golden ratio

// Get gets a key in the sample at the time now. It reports whether all shadows have the key. If
// one has not, but the cache has, Fill must follow.
func (c *Caches) Get(h uint64, now int64) (all bool) {
	r := c.lock.RLock()
	defer c.lock.RUnlock(r)
	c.gets.Add(c.weight)
	hit := c.caches[same].get(h, now, c.weight, true)
	all = hit
	for _, i := range [...]int{half, double, other} {
		// The program sets a key that the cache misses, and set marks it: once is enough.
		all = c.caches[i].get(h, now, c.weight, hit) && all
	}
	return all
}

// Fill stores a key in the sample in the shadows that lack it at the time now, with the deadline
// that it has in the cache. A cache like such a shadow would have missed, and the program would
// have set the key.
func (c *Caches) Fill(h uint64, now, deadline int64) {
	c.each(func(c *shadow) { c.fill(h, now, deadline) })
}

// Set sets a key in the sample with a deadline.
func (c *Caches) Set(h uint64, deadline int64) { c.each(func(c *shadow) { c.set(h, deadline) }) }

// Touch gives a key in the sample another deadline.
func (c *Caches) Touch(h uint64, deadline int64) { c.each(func(c *shadow) { c.touch(h, deadline) }) }

// Remove removes a key in the sample.
func (c *Caches) Remove(h uint64) { c.each(func(c *shadow) { c.remove(h) }) }

// Clear removes all keys.
func (c *Caches) Clear() {
	c.lock.Lock()
	defer c.lock.Unlock()
	for i := range c.caches {
		c.caches[i].reset(len(c.caches[i].entries), c.orders[i]())
	}
}

// each calls a function for each shadow. The function has exclusive access.
func (c *Caches) each(f func(*shadow)) {
	c.lock.Lock()
	for i := range c.caches {
		f(&c.caches[i])
	}
	c.lock.Unlock()
}

// Counts are estimates: of the gets of a cache, and of the hits that each shadow would have if it
// saw all keys.
type Counts struct{ Gets, Half, Same, Double, OtherPolicy uint64 }

// Counts returns the counts since the shadows were made.
func (c *Caches) Counts() Counts {
	hits := func(i int) uint64 { return c.caches[i].hits.Load() / sampleSize }
	// The hits are read first, so that there are never more of them than gets.
	n := Counts{Half: hits(half), Same: hits(same), Double: hits(double), OtherPolicy: hits(other)}
	n.Gets = c.gets.Load() / sampleSize
	return n
}
