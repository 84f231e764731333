// This file computes deadlines: pure arithmetic on the clock and the options.

package cache

import (
	"math"
	"math/rand/v2"
	"time"
)

const (
	minTick, defaultTick, maxTick = 10 * time.Millisecond, 100 * time.Millisecond, time.Second

	// ticksPerTTL is how many ticks the shortest TTL of the options has.
	ticksPerTTL = 100
)

// A timing has the clock of a cache, and the options by which it computes deadlines.
type timing struct {
	idle        time.Duration
	renews      bool // with Refresh or Grace: entries have a time when they are due
	clock       clock
	driver      driver
	expireAfter time.Duration
	tick        time.Duration
	short       time.Duration // a hundred ticks: a shorter TTL counts from the exact time
	jitter      float64
	refresh     float64

	refreshAfter time.Duration // in place of refresh
	grace        time.Duration
	patience     time.Duration
	pauses       []time.Duration // by the number of failures, from 1 on; nil for the usual ones
}

func (t *timing) init(expire, idle time.Duration, jitter float64) {
	t.expireAfter, t.idle, t.jitter = expire, idle, jitter
	t.tick = tickFor(expire, idle)
	t.short = t.tick * ticksPerTTL
	t.clock.init(t.tick)
}

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
	due      int64 // when it is to be loaded anew: see underWay
}

var forever = life{never, never, never}

// lifeOf returns the life of an entry with the given TTL that begins now. A TTL
// of 0 means for ever. On the other side of a bubble lifeOf panics if strict is set, and else
// returns a life without end. With strict no lock may be held.
func (t *timing) lifeOf(h uint64, ttl time.Duration, strict bool) life {
	if ttl == 0 && t.idle == 0 && t.refreshAfter == 0 {
		return forever
	}
	if t.jitter != 0 && ttl != 0 {
		ttl = t.jittered(ttl)
	}
	now := t.timeFor(&t.clock.stores, h, ttl, strict)
	if t.renews {
		return t.lifeFrom(now, ttl)
	}
	return t.lasting(now, ttl) // lifeFrom, inlined
}

// deadlineFor returns the deadline of lifeOf, for a simple cache.
func (t *timing) deadlineFor(h uint64, ttl time.Duration, strict bool) int64 {
	if ttl >= t.short && t.jitter == 0 {
		if now, ok := t.clock.lately(h); ok {
			return after(now, ttl)
		}
	}
	return t.lifeOf(h, ttl, strict).deadline
}

// lifeFrom is lifeOf from a given time on, for a TTL that jitter has been applied to.
func (t *timing) lifeFrom(now int64, ttl time.Duration) life {
	l := t.lasting(now, ttl)
	if t.renews && (ttl > 0 || t.refreshAfter > 0) {
		l.due = t.dueFrom(now, ttl)
	}
	return l
}

// lasting is lifeFrom of a value that is never due.
func (t *timing) lasting(now int64, ttl time.Duration) life {
	l := forever
	if ttl > 0 {
		l.cap = after(now, ttl)
		l.deadline = l.cap
	}
	if t.idle > 0 {
		l.deadline = min(after(now, t.idle), l.cap)
	}
	return l
}

// timeFor returns the time at which a life with the given TTL, or idleness, begins. It is
// exact if either is short, and else early by at most a hundredth of it. See lifeOf for strict.
func (t *timing) timeFor(r *readings, h uint64, ttl time.Duration, strict bool) int64 {
	now, odd := t.clock.recent(r, h, t.idle > 0 && t.idle < t.short || ttl > 0 && ttl < t.short)
	if odd {
		return t.oddTime(now, strict)
	}
	return now
}

// oddTime is the rest of timeFor after a reading that was the last exact one of its tick, or one
// on the other side of a bubble.
func (t *timing) oddTime(now int64, strict bool) int64 {
	switch {
	case strict:
		t.clock.mustBeHome()
	case t.clock.away():
		return never
	}
	t.driver.wakeBy(t.clock.nextTick()) // otherwise the coarse time would not advance
	return now
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
	tick := int64(t.tick)
	return (deadline-1)/tick + 1
}

// untilTick returns the time from now to the next tick.
func (t *timing) untilTick(now int64) time.Duration {
	return t.tick - time.Duration(now)%t.tick
}

// until returns the time until a deadline, and at least 1 ns, as it had not passed when
// the entry was looked at.
func (t *timing) until(deadline int64) time.Duration {
	if deadline == never {
		return math.MaxInt64
	}
	return time.Duration(max(deadline-t.clock.now(), 1))
}

// left is until for a recording: 0 means that there is no deadline.
func (t *timing) left(deadline int64) time.Duration {
	if deadline == never {
		return 0
	}
	return t.until(deadline)
}

// slack is by how much touch may leave a deadline too early: 0, unless the program is busy.
// Then one keep-alive after another would postpone the same deadline by almost nothing, and
// each write would take the entry from the other processors.
func (t *timing) slack(ttl time.Duration) int64 {
	if shortest := float64(ttl) * (1 - t.jitter); shortest < float64(t.short) || !t.clock.busy() {
		return 0
	}
	return int64(t.tick / 4)
}

// Beside its deadline an entry has a word that says when it is due for a renewal: a time; or
// never, if it has no TTL; or underWay, if a renewal has begun or is about to. The lowest bits, its
// marks, count the renewals in a row that failed, and say that it has been due. A caller that finds a value due swaps the word to
// underWay, under the lock for reading, so only one begins a renewal. The end of the load
// sets the word to a time again, whatever has become of the key.
const (
	triesMask = 1<<5 - 1
	maxTries  = triesMask - 1 // as underWay with all marks is never
	wasDue    = 1 << 5
	marksMask = wasDue | triesMask
	underWay  = int64(never &^ marksMask) // this and all above it, except never

	minPause   = 100 * time.Millisecond
	pausePart  = 100         // the first pause is this part of Expire
	pauseLimit = time.Minute // the longest pause without Expire
)

// dueFrom returns the word of a value whose TTL, or 0 for never, begins now. Without Refresh it is
// due at its deadline.
func (t *timing) dueFrom(now int64, ttl time.Duration) int64 {
	if t.refresh == 0 && t.refreshAfter == 0 {
		return dueAt(after(now, ttl), 0)
	}
	part := max(t.refreshAfter, time.Duration(float64(ttl)*t.refresh)) // one of them is 0
	if t.jitter != 0 {
		part = t.jittered(part)
	}
	if ttl > 0 {
		part = min(part, ttl)
	}
	return dueAt(after(now, part), 0)
}

// dueAt returns the word for a time, with marks. The time may be early by some nanoseconds.
func dueAt(at int64, marks int64) int64 {
	if at >= underWay {
		return never
	}
	return at&^marksMask | marks
}

// duePassed reports whether the time of a word has come.
func (t *timing) duePassed(due int64) bool { return t.clock.passed(due &^ marksMask) }

// isDue reports whether a value is to be loaded anew, also if that is under way, or has failed.
func (t *timing) isDue(due int64) bool {
	return due != never && (due&wasDue != 0 || t.duePassed(due))
}

// renewing reports whether a renewal is under way.
func renewing(due int64) bool { return due >= underWay && due != never }

// pauseAfter returns the word for the end of the pause after a renewal that failed or could
// not begin, with marks.
func (t *timing) pauseAfter(marks int64) int64 {
	failed := int(marks & triesMask)
	var pause time.Duration
	if t.pauses == nil {
		pause = t.usualPause(failed)
	} else if pause = t.pauses[max(failed, 1)-1]; pause > 0 && t.jitter != 0 {
		pause = t.jittered(pause)
	}
	return dueAt(after(t.clock.now(), pause), marks)
}

// usualPause returns the pause after so many failures in a row: see Pause.
func (t *timing) usualPause(failed int) time.Duration {
	longest := t.expireAfter
	if longest == 0 {
		longest = pauseLimit
	}
	longest = max(longest, minPause)
	pause := max(longest/pausePart, minPause)
	for n := failed; n > 1 && pause < longest; n-- {
		pause *= 2
	}
	pause = min(pause, longest)
	return pause + rand.N(pause/4) // so that processes do not load in step
}
