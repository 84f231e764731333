// This file has Tune, which changes options while the cache is used.

package cache

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache/internal/clock"
)

// A Tuning has what [Cache.Tune] changes. The zero value of a field means what it means in [Options],
// which also say which times fit each other.
type Tuning struct {
	// Expire is the TTL of a value that is stored from now on, or whose load begins; others keep
	// theirs. With ExpireBy it must be 0. The tick stays that of the options. With Refresh or RefreshAfter a
	// longer TTL makes Takes of values with shorter ones read the clock, even when it is short again.
	Expire time.Duration

	// Grace is that of all values, also of those that the cache has. It needs one of the options Grace,
	// Refresh and RefreshAfter, by which entries have the room for it. A longer one may bring back a value
	// that was missed just before, as its Grace had ended, and that is not removed yet.
	Grace time.Duration

	// Patience is that of callers that begin to wait.
	Patience time.Duration

	// MaxLoads is for loads that begin, and for those that wait: with more, or 0, they run at once. With
	// less those that run go on, and others wait until there are fewer. Loads that began while it was 0 do
	// not count, nor do those that they begin. What Options says of a Take within a fetch holds from then on.
	MaxLoads int

	// Bypass empties the cache, with Cleared for OnRemove, and keeps it empty until it is false again:
	// nothing is stored, but callers share loads, within MaxLoads. What was loaded meanwhile, or by a
	// Restore that ran, is not stored afterwards either; but a Compute that ran may store. All calls of OnRemove are queued at once, and
	// nobody waits for them. Values that a near cache keeps for ServeOn stand in all the same. Meanwhile
	// SaveFile saves a cache without entries.
	Bypass bool
}

// Tune changes options while the cache is used, by a function that gets what holds now, and returns what
// holds afterwards. A nil change only reads. If the result is wrong, the error wraps [ErrArgument] and says
// everything that is wrong, and nothing is changed. A change lasts until the process ends.
//
// change runs without a lock. It is called again if another Tune has changed something meanwhile, so it
// should have no other effects, and not call Tune to change something itself. Tune does not wait for loads
// or callbacks, but with a shorter Grace and for Bypass it looks at all entries.
func (c *Cache[K, V]) Tune(change func(*Tuning)) (Tuning, error) {
	for {
		before := c.tuning()
		after := before
		if change != nil {
			change(&after)
		}
		if after == before {
			return before, nil
		}
		if err := c.checkTuning(before, after); err != nil {
			return before, err
		}
		if c.tune(before, after) {
			return after, nil
		}
	}
}

// A tuner has what Tune needs beside the options that it changes.
type tuner struct {
	mu      sync.Mutex             // held by who changes them
	now     atomic.Pointer[Tuning] // what holds, or did before the change that is under way; nil before the first
	changes atomic.Uint32          // how many there were
	flips   atomic.Uint32          // how often Bypass began or ended: it is set if that is odd
}

// tuned returns how many changes there were.
func (c *Cache[K, V]) tuned() uint64 { return uint64(c.tuner.changes.Load()) }

// tuning returns what holds now.
func (c *Cache[K, V]) tuning() Tuning {
	if now := c.tuner.now.Load(); now != nil {
		return *now // without the lock, as a change may look at all entries
	}
	c.tuner.mu.Lock()
	defer c.tuner.mu.Unlock()
	return c.holds()
}

// holds is tuning for a caller that holds the lock of the tuner.
func (c *Cache[K, V]) holds() Tuning {
	if now := c.tuner.now.Load(); now != nil {
		return *now
	}
	t := &c.common.time
	return Tuning{max(t.expireAfter.get(), 0), t.grace.get(), t.patience.get(), c.common.loads.rules.Most(), c.tuner.flips.Load()%2 == 1}
}

// checkTuning returns all mistakes in a change as one error, or nil.
func (c *Cache[K, V]) checkTuning(from, to Tuning) error {
	m := &c.common
	o := Options[K, V]{Expire: to.Expire, Grace: to.Grace, Patience: to.Patience, MaxLoads: to.MaxLoads,
		ExpireBy: m.expireBy, RefreshAfter: m.time.after, Timeout: m.loads.rules.Timeout()}
	var wrong mistakes
	o.checkTTLs(&wrong)
	o.checkLoads(&wrong)
	if to.Grace > 0 && !m.time.renews {
		wrong.add("Grace is %v in a cache made without Grace, Refresh and RefreshAfter: want one of these options, a Grace of %v will do", to.Grace, minTTL)
	}
	if c.owner.Load() != nil && (to.Expire != from.Expire || to.Grace != from.Grace) {
		wrong.add("Expire is %v and Grace %v: want %v and %v, which do not change in a near cache, whose loads set TTLs", to.Expire, to.Grace, from.Expire, from.Grace)
	}
	return errors.Join(wrong...)
}

// tune makes after hold instead of before. It returns false, and does nothing, if before does not hold any more.
func (c *Cache[K, V]) tune(before, after Tuning) bool {
	c.tuner.mu.Lock()
	defer c.tuner.mu.Unlock()
	if c.holds() != before {
		return false
	}
	c.tuner.changes.Add(1)
	c.tuner.now.Store(&before)
	defer c.tuner.now.Store(&after)
	m := &c.common
	if after.Expire != before.Expire {
		m.time.expireAfter.set(after.Expire)
	}
	m.time.patience.set(after.Patience)
	m.loads.rules.SetMost(after.MaxLoads)
	m.time.grace.set(after.Grace)
	if after.Grace < before.Grace {
		m.endGrace()
	}
	if after.Bypass != before.Bypass {
		c.tuner.flips.Add(1)
		m.bypass(after.Bypass)
	}
	return true
}

// endGrace makes the ring visit in time the entries whose Grace has become shorter.
func (c *common[K, V]) endGrace() {
	c.time.graceCut.Store(c.time.clock.Now())
	for s := range c.all() {
		s.sweep(func(bool) {}, func(i uint32) {
			if d := &s.entries[i].deadline; d.Get() != clock.Never {
				s.lives.moveTask(i, s.end(i), &c.time)
			}
		})
	}
}

// bypass empties the shards and makes them store nothing, or lets them store again. Loads that are under
// way do not store their values. Nobody waits for OnRemove, which may call Tune.
func (c *common[K, V]) bypass(off bool) {
	for s := range c.all() {
		s.lock.Lock()
		s.off = off || s.closed
		s.pending.clear()
		s.lock.Unlock()
		if off && !s.drop() {
			s.clear(func(bool) {})
		}
	}
	if off {
		c.watch.Load().cleared()
		c.dropErrors()
	}
}
