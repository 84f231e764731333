// This file counts loads that have ended, and tells operators which keys fail or take long.

package cache

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache/internal/keytext"
	"github.com/pinwheel-cache/pinwheel/cache/internal/troubles"
	"github.com/pinwheel-cache/pinwheel/internal/sources"
)

// count counts a load that has ended, and each key of its batch. No lock may be held.
func (c *common[K, V]) count(l *load[K, V]) {
	late := !l.flight.Claim() // it was counted at the end of Timeout
	failed := c.countKey(l, l.ended, late)
	for n, mate := range l.members() {
		mate.blamed.CompareAndSwap(false, n >= troubles.Most && mate.ofBatch) // the first keys of a large batch will do
		failed = cmp.Or(failed, c.countKey(mate, l.ended, late))
	}
	switch took := l.took(l.ended); {
	case late:
	case failed == nil:
		c.loads.count(took, nil, false)
	default:
		c.loads.count(took, failed.err, failed.timedOut)
	}
}

// countKey counts a load that ended then for its key alone, and returns it if it has failed, else nil. One that
// is late has failed those who waited for it, who have blamed it, unless it brings something.
func (c *common[K, V]) countKey(l *load[K, V], ended int64, late bool) (failed *load[K, V]) {
	err, took := l.counted(), l.took(ended)
	if err == nil && l.err != nil {
		c.loads.made().notFound.Add(1)
	}
	switch {
	case err == nil && (l.unshared || l.blamed.Load()):
	case err == nil:
		if l.member {
			took = 0 // the first key of a batch stands for all
		}
		c.troubles().Succeeded(l.key, l.hash, took)
	case l.flight.Err() != context.Canceled: // callers that have left, but by a deadline, say nothing about the key
		c.blame(l, took, err)
	}
	if err == nil {
		return nil
	}
	return l
}

// took returns how long a load that ended then took, without its wait for a permit.
func (l *load[K, V]) took(ended int64) time.Duration {
	return max(time.Duration(ended-l.began)-l.flight.Waited(), 0)
}

// blame notes once that a load has failed, or is late. It may still run.
func (c *common[K, V]) blame(l *load[K, V], took time.Duration, err error) {
	if !l.unshared && !l.blamed.Swap(true) {
		c.troubles().Failed(l.key, l.hash, took, err)
	}
}

// troubles returns the keys in trouble, for which there is memory once a load ends or somebody asks.
func (c *common[K, V]) troubles() *troubles.Keys[K] {
	if c.inTrouble.Load() == nil {
		c.inTrouble.CompareAndSwap(nil, new(troubles.Keys[K]))
	}
	return c.inTrouble.Load()
}

// operation returns what operators want to know of the cache.
func (c *Cache[K, V]) operation() sources.Operation {
	o := c.common.loads.operation()
	o.Failing, o.InRow = c.common.troubles().Failures()
	if r := c.common.observers.runner; r != nil {
		o.Blocked = r.Waiters()
	}
	if by := c.owner.Load(); by != nil && by.Operate != nil {
		by.Operate(&o)
	}
	return o
}

// mostKeys is how many keys in trouble are shown.
const mostKeys = 10

// failingKeys returns the keys whose loads fail, as [sources.Cache] wants them.
func (c *Cache[K, V]) failingKeys() []sources.BadKey {
	return c.asText(c.common.troubles().Failing(mostKeys))
}

// slowKeys returns the keys whose fetches run or were slow, the slowest first.
func (c *Cache[K, V]) slowKeys() []sources.BadKey {
	all := c.common.troubles().Slow(mostKeys)
	for s := range c.common.all() {
		at, now := time.Now(), c.common.time.clock.Now()
		r := s.lock.RLock()
		for l := range s.pending.all() {
			if took := time.Duration(now - l.began); took > 0 && l.flight.Fetching() {
				all = append(all, troubles.Key[K]{Key: l.key, BadKey: sources.BadKey{Hash: l.hash, Took: took, Since: at.Add(-took), Running: true}})
			}
		}
		s.lock.RUnlock(r)
		slices.SortFunc(all, func(a, b troubles.Key[K]) int { return cmp.Compare(b.Took, a.Took) })
		all = all[:min(len(all), mostKeys)]
	}
	return c.asText(all)
}

// asText returns the first keys, as text if the cache shows its keys.
func (c *Cache[K, V]) asText(keys []troubles.Key[K]) []sources.BadKey {
	w := c.common.watch.Load()
	bad := make([]sources.BadKey, 0, mostKeys)
	for _, k := range keys[:min(len(keys), mostKeys)] {
		if w != nil && w.hot != nil {
			k.BadKey.Key = keytext.Of(k.Key)
		}
		bad = append(bad, k.BadKey)
	}
	return bad
}
