// This file computes how long values live: deadlines, ticks and jitter, from the options about time.

package cache

import (
	"math"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache/internal/clock"
)

const (
	minTick, defaultTick, maxTick = 10 * time.Millisecond, 100 * time.Millisecond, time.Second

	// ticksPerTTL is how many ticks the shortest TTL of the options has.
	ticksPerTTL = 100
)

// timing has the clock of a cache, and the options by which it computes deadlines.
type timing struct {
	idle        time.Duration
	renews      bool         // with Refresh, RefreshAfter or Grace: entries have a time when they are due
	lead        atomic.Int64 // the most by which an entry is due before its deadline
	clock       clock.Clock
	driver      driver
	expireAfter tunable       // the TTL of a value that is stored without one, or ttlByValue
	short       time.Duration // a hundred ticks: a shorter TTL counts from the exact time
	jitter      float64
	refresh     float64
	after       time.Duration                    // RefreshAfter
	retryAfter  func(failures int) time.Duration // nil: pauses double
	grace       tunable
	graceCut    atomic.Int64 // when a Tune made Grace shorter
	patience    tunable
}

func (t *timing) init(expire, idle time.Duration, jitter float64) {
	t.idle, t.jitter = idle, jitter
	t.expireAfter.set(expire)
	t.clock.Init(tickFor(expire, idle))
	t.short = t.clock.PerTick * ticksPerTTL
}

// initRenewal sets the options of renewals.
func (t *timing) initRenewal(refresh float64, after, grace, patience time.Duration, retryAfter func(int) time.Duration) {
	t.refresh, t.after, t.retryAfter = refresh, after, retryAfter
	t.grace.set(grace)
	t.patience.set(patience)
	t.renews = t.refreshes() || grace > 0
	if after > 0 { // a value without a TTL is due, for which no tick comes
		t.clock.EndHorizon()
	}
}

// refreshes reports whether values are renewed before they expire.
func (t *timing) refreshes() bool { return t.refresh > 0 || t.after > 0 }

// tickFor returns the tick for entries that live for expire, and idle, both 0
// if they do not expire.
func tickFor(expire, idle time.Duration) time.Duration {
	shortest := expire
	if idle > 0 && (expire == 0 || idle < expire) {
		shortest = idle
	}
	if shortest == 0 {
		return defaultTick
	}
	return min(max(shortest/ticksPerTTL, minTick), maxTick)
}

// A life is how long an entry is to live.
type life struct {
	deadline int64 // the earlier of cap and the end of idleness
	cap      int64 // by TTL
	due      int64 // when it is due for renewal: see due.go
}

var forever = life{clock.Never, clock.Never, clock.Never}

// lifeOf returns the life of an entry with the given TTL that begins now. A TTL
// of 0 means for ever. It panics if the cache is used in a bubble and was made outside.
func (t *timing) lifeOf(h uint64, ttl time.Duration) life {
	l := t.lifeIn(h, ttl)
	if l.deadline == clock.Never && t.ends(ttl) {
		t.clock.MustNow()
	}
	return l
}

// ttlByValue stands for the TTL that the option ExpireBy returns. Callers with negative TTLs do not get here.
const ttlByValue = time.Duration(math.MinInt64)

// ttlOf returns the TTL of a value that is to be stored, for one that may be ttlByValue. No lock may be held.
func (c *common[K, V]) ttlOf(key K, value V, ttl time.Duration) time.Duration {
	if ttl == ttlByValue {
		return c.expireBy(key, value)
	}
	return ttl
}

// ends reports whether an entry with the given TTL is to expire, or to be renewed.
func (t *timing) ends(ttl time.Duration) bool { return ttl > 0 || t.idle > 0 || t.after > 0 }

// lifeIn is lifeOf without the check, for a caller that holds a lock.
func (t *timing) lifeIn(h uint64, ttl time.Duration) life {
	if ttl == 0 && t.idle == 0 && t.after == 0 {
		return forever
	}
	if t.jitter != 0 && ttl != 0 {
		ttl = t.jittered(ttl)
	}
	now := t.timeFor(&t.clock.Stores, h, ttl)
	if t.renews {
		return t.lifeFrom(now, ttl)
	}
	return t.lasting(now, ttl) // lifeFrom, inlined
}

// deadlineFor returns the deadline of lifeIn, for a simple cache.
func (t *timing) deadlineFor(h uint64, ttl time.Duration) int64 {
	if ttl >= t.short && t.jitter == 0 {
		if now, ok := t.clock.RecentForStore(h); ok {
			return clock.After(now, ttl)
		}
	}
	return t.lifeIn(h, ttl).deadline
}

// lifeFrom is lifeOf from a given time on, for a TTL that jitter has been applied to.
func (t *timing) lifeFrom(now int64, ttl time.Duration) life {
	l := t.lasting(now, ttl)
	if t.renews && (ttl > 0 || t.after > 0) {
		l.due = t.dueFrom(now, l.cap, ttl)
	}
	return l
}

// lasting is lifeFrom of a value that is never due.
func (t *timing) lasting(now int64, ttl time.Duration) life {
	l := forever
	if ttl > 0 {
		l.cap = clock.After(now, ttl)
		l.deadline = l.cap
	}
	if t.idle > 0 {
		l.deadline = min(clock.After(now, t.idle), l.cap)
	}
	return l
}

// dueFrom returns the word for a TTL that begins at the time now and ends at end. Without Refresh a
// value is due at its deadline. The lead is set before the entry has the word.
func (t *timing) dueFrom(now, end int64, ttl time.Duration) int64 {
	switch {
	case t.after > 0 && t.jitter != 0:
		ttl = t.jittered(t.after)
	case t.after > 0:
		ttl = t.after
	case t.refresh > 0:
		ttl = time.Duration(float64(ttl) * t.refresh)
	}
	due := min(dueAt(clock.After(now, ttl), 0), dueAt(end, 0))
	for {
		lead := t.lead.Load()
		if end-due <= lead || t.lead.CompareAndSwap(lead, end-due) {
			return due
		}
	}
}

// timeFor returns the time at which a life with the given TTL, or idleness, begins. It is
// exact if either is short, and else early by at most a hundredth of it.
func (t *timing) timeFor(r *clock.Readings, h uint64, ttl time.Duration) int64 {
	now, last := t.clock.RecentForDeadline(r, h, t.idle > 0 && t.idle < t.short || ttl > 0 && ttl < t.short)
	if last {
		t.wakeBy(t.nextTick()) // otherwise the coarse time would not advance
	}
	return now
}

// idleEnd returns when an entry expires by Idle if it is used now. Its key has hash h.
func (t *timing) idleEnd(h uint64) int64 {
	return clock.After(t.timeFor(&t.clock.Idleness, h, 0), t.idle)
}

// slack returns by how much Touch may leave a deadline too early: 0, unless the program is busy.
// Then one Touch after another would postpone the same deadline by almost nothing, and each write
// would take the entry from the caches of the other processors.
func (t *timing) slack(ttl time.Duration) uint64 {
	if shortest := float64(ttl) * (1 - t.jitter); shortest < float64(t.short) || !t.clock.Busy() {
		return 0
	}
	return uint64(t.clock.PerTick / 4)
}

// jittered spreads a TTL by the jitter of the options.
func (t *timing) jittered(ttl time.Duration) time.Duration {
	spread := float64(ttl) * (1 + t.jitter*(2*rand.Float64()-1))
	if spread >= math.MaxInt64 {
		return math.MaxInt64
	}
	return max(time.Duration(spread), 1)
}

// tickAt returns the first tick at or after a deadline: the wheel is never
// early, and at most one tick late.
func (t *timing) tickAt(deadline int64) int64 {
	tick := int64(t.clock.PerTick)
	return (deadline-1)/tick + 1
}

// untilTick returns the time from now to the next tick.
func (t *timing) untilTick(now int64) time.Duration {
	return t.clock.PerTick - time.Duration(now)%t.clock.PerTick
}

// until returns the time until a deadline that had not passed when the entry was looked at. So it
// returns at least 1 ns.
func (t *timing) until(deadline int64) time.Duration {
	if deadline == clock.Never {
		return math.MaxInt64
	}
	return time.Duration(max(deadline-t.clock.Now(), 1))
}

// left is until for a recording: 0 means that there is no deadline.
func (t *timing) left(deadline int64) time.Duration {
	if deadline == clock.Never {
		return 0
	}
	return t.until(deadline)
}
