// This file says when the entries of a shard are removed and when they are due for renewal, and has
// the ring, the shard's timing wheel, in which a task wakes each entry that is to expire. A new array
// about time goes here.
//
// The ring has a task for exactly the entries with a deadline. It visits the task no later than
// at the first tick at or after the deadline, unless the entry is in earlier, and the driver visits the
// shard no later than nextVisit. The lock of the shard guards all of it, held for writing; a reader may
// change a deadline, a word of due, and set bits of earlier, all of them atomically.

package cache

import (
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache/internal/clock"
	"github.com/pinwheel-cache/pinwheel/stats"
	"github.com/pinwheel-cache/pinwheel/timingwheel/ring"
)

// lives has what a shard knows of how long its entries live, beside their deadlines.
type lives struct {
	ring      *ring.Ring       // nil before the first TTL
	caps      []int64          // deadlines by TTL, if Idle makes those of entries differ
	due       []clock.Deadline // when they are due for renewal, with Refresh or Grace; see due.go
	earlier   *earlier         // the entries whose deadlines were brought forward; nil if there are none
	nextVisit atomic.Int64     // the tick by which the ring has to be visited, or noTick
	anchored  bool             // an entry waits to expire, in a cache with OnRemove
}

// set gives entry i, whose deadline is d, a life. It returns true if its task must be set. If the slot
// has a task already, of this entry or of the one it replaces, and the ring visits that soon enough,
// the task stays as it is, and expireSome postpones it.
func (l *lives) set(i uint32, d *clock.Deadline, to life, t *timing) (setTask bool) {
	old := d.Get()
	d.Set(to.deadline)
	if l.caps != nil {
		l.caps[i] = to.cap
	}
	if l.due != nil {
		l.due[i].Set(to.due)
	}
	if to.deadline == clock.Never {
		if old != clock.Never {
			l.removeTask(i, t)
		}
		return false
	}
	return old == clock.Never || (old < 0 || to.deadline < old) && !l.visitsBy(i, to.deadline, t)
}

// outlast is set for an entry that a Set of a simple cache has put into the place of another: caps and
// due there are none. If the new deadline is no earlier than the old one, the task stays as it is, and
// expireSome postpones it. Otherwise outlast returns false, and does nothing.
func outlast(d *clock.Deadline, deadline int64) bool {
	old := d.Get()
	if old < 0 || deadline < old || deadline == clock.Never {
		return false
	}
	d.Set(deadline)
	return true
}

// at returns the life of entry i after a use of it now. Its deadline is d, the hash of its key h.
func (l *lives) at(i uint32, d *clock.Deadline, h uint64, t *timing) life {
	now := forever
	if l.due != nil {
		now.due = l.due[i].Get()
	}
	if l.caps == nil {
		now.deadline = d.Get()
		now.cap = now.deadline
	} else {
		now.cap = l.caps[i]
		now.deadline = min(t.idleEnd(h), now.cap)
	}
	return now
}

// cap returns the deadline of an entry by TTL, if its deadline is d.
func (l *lives) cap(i uint32, d *clock.Deadline) int64 {
	if l.caps != nil {
		return l.caps[i]
	}
	return d.Get()
}

// end returns when entry i, whose deadline is d, is removed: at its deadline or, if that is by TTL,
// at the end of Grace.
//
// A value in Grace has expired, but may stand in. Its deadline is still the one by TTL, so
// all methods but the Takes find it expired, as in a cache without Grace. The wheel visits
// at the deadline and postpones the task to the end of Grace. Setting the task there at once
// would save a visit, but the horizon reaches only to the next visit, so every read would
// read the clock.
func (l *lives) end(i uint32, d *clock.Deadline, grace time.Duration) int64 {
	t := clock.TimeOf(d.Get())
	if grace == 0 || l.caps != nil && t < l.caps[i] {
		return t
	}
	return clock.After(t, grace)
}

// visitsBy reports whether the ring visits the task of entry i in time for a deadline.
func (l *lives) visitsBy(i uint32, deadline int64, t *timing) bool {
	tick, ok := l.ring.Visit(i)
	return ok && (tick-1)*int64(t.clock.PerTick) < deadline // as tick <= tickAt(deadline), but faster
}

// setTask makes the ring visit entry i at a tick. makeTasks must have been called.
func (l *lives) setTask(i uint32, tick int64, t *timing) {
	// The driver advances a ring only when there is something to visit. Without this a task that
	// is due soon would go to the overflow level.
	if now, length := t.clock.Coarse(), int64(t.clock.PerTick); now-l.ring.Now()*length >= length {
		l.ring.Advance(now/length, 0, nil)
	}
	l.visitBy(l.ring.Set(i, tick), t)
	l.anchor(true, t)
}

// removeTask removes the task of entry i, if it has one.
func (l *lives) removeTask(i uint32, t *timing) {
	if l.ring == nil {
		return
	}
	l.ring.Remove(i)
	if l.anchored && l.ring.Len() == 0 {
		l.anchor(false, t)
	}
}

// visitBy makes the driver visit the shard by a tick.
func (l *lives) visitBy(tick int64, t *timing) {
	if tick < l.nextVisit.Load() {
		l.nextVisit.Store(tick)
		t.wakeBy(tick)
	}
}

// visited notes that the ring was advanced to a tick, and when it has to be visited next.
func (l *lives) visited(tick int64) {
	next, ok := l.ring.NextVisit()
	if !ok {
		next = noTick
	}
	if l.earlier != nil {
		next = min(next, tick+1)
	}
	l.nextVisit.Store(next)
}

// behind reports whether the ring should have visited a task more than a tick or two ago. The lock must be held,
// at least for reading.
func (l *lives) behind(now int64, t *timing) bool {
	if l.ring == nil {
		return false
	}
	next, ok := l.ring.NextVisit()
	return ok && next+2 <= now/int64(t.clock.PerTick)
}

// anchor notes whether some entry waits to expire.
func (l *lives) anchor(waits bool, t *timing) {
	if a := t.driver.anchor; a != nil && waits != l.anchored {
		l.anchored = waits
		a.note(waits)
	}
}

// makeTasks makes the ring, with so many slots to a level, for the tasks of n entries.
func (l *lives) makeTasks(level, n int) {
	l.ring = ring.New(level)
	l.ring.Resize(n)
}

// dropTasks drops the ring. No entry may have a task.
func (l *lives) dropTasks() {
	l.ring, l.earlier = nil, nil
	l.nextVisit.Store(noTick)
}

// slide postpones when entry i, which is being read, expires by Idle. Its deadline is d, the hash of
// its key h. It returns false if another caller has found the entry expired meanwhile.
func (l *lives) slide(i uint32, d *clock.Deadline, h uint64, t *timing) bool {
	return postpone(d, min(t.idleEnd(h), l.caps[i]))
}

// postpone sets a deadline, unless another caller has set a later one. It does not set never, for
// which the task would have to be removed: the old deadline is 292 years from now then. It returns
// false if a caller has found that the deadline has passed.
func postpone(d *clock.Deadline, deadline int64) bool {
	for {
		switch old := d.Get(); {
		case old < 0:
			return false
		case deadline <= old || deadline == clock.Never || d.Swap(old, deadline):
			return true
		}
	}
}

// retime gives entry i, which a reader found alive, another deadline in place of d. It leaves the ring
// alone: the ring visits the task as planned, and expireSome postpones it then. If that visit would
// be too late, the entry goes into earlier. retime returns false, and does nothing, if there is no
// earlier yet, or if the task must be set or removed: that takes the lock for writing.
func (l *lives) retime(i uint32, d *clock.Deadline, deadline int64, t *timing) bool {
	for {
		old := d.Get()
		if old == clock.Never || old < 0 || l.earlier == nil && deadline < old && !l.visitsBy(i, deadline, t) {
			return false
		}
		if d.Swap(old, deadline) {
			l.earlier.note(i, old, deadline)
			return true
		}
	}
}

// mayBeEarlier reports whether markEarlier is to be called.
func (l *lives) mayBeEarlier(old, deadline int64) bool { return l.earlier != nil || deadline < old }

// markEarlier marks entry i, of n slots, if its new deadline is earlier than the old one.
func (l *lives) markEarlier(i uint32, old, deadline int64, n int, t *timing) {
	l.awaitEarlier(n, t)
	l.earlier.mark(i, old, deadline)
}

// awaitEarlier makes earlier, for n slots, if there is none, and makes the next tick look at it.
func (l *lives) awaitEarlier(n int, t *timing) {
	if l.earlier == nil {
		l.earlier = newEarlier(n)
		l.visitBy(t.nextTick(), t)
	}
}

// passEarlier calls move for at most n of the entries in earlier. It returns done when this tick has
// no more of them.
func (l *lives) passEarlier(tick int64, n int, move func(i uint32)) (done bool) {
	if l.earlier == nil || l.earlier.passed == tick {
		return true
	}
	done = l.earlier.pass(tick, n, move)
	if done && !l.earlier.any() {
		l.earlier = nil
	}
	return done
}

// restartEarlier makes passEarlier begin anew.
func (l *lives) restartEarlier() {
	if l.earlier != nil {
		l.earlier.next = 0
	}
}

// moveTask makes the ring visit entry i by a deadline, if it would come later.
func (l *lives) moveTask(i uint32, deadline int64, t *timing) {
	if deadline != clock.Never && !l.visitsBy(i, deadline, t) {
		l.visitBy(l.ring.Set(i, t.tickAt(deadline)), t) // perhaps at this tick, to which the ring has yet to advance
	}
}

// any reports whether an entry may have a task.
func (l *lives) any() bool { return l.ring != nil }

// waits reports whether entry i has a task.
func (l *lives) waits(i uint32) bool {
	_, ok := l.ring.Due(i)
	return ok
}

// next returns the tick by which the ring has to be visited, or noTick.
func (l *lives) next() int64 { return l.nextVisit.Load() }

// addTo adds the tasks to total.
func (l *lives) addTo(total *stats.Snapshot) {
	if l.ring != nil {
		total.Expiry.Pending += l.ring.Len()
		total.Expiry.Tombstones += l.ring.Tombstones()
	}
}

// setDue sets when entry i is due, for a reader.
func (l *lives) setDue(i uint32, due int64) {
	if l.due != nil {
		l.due[i].SetAtomic(due)
	}
}

// resize makes room for n slots. All of earlier must have been looked at.
func (l *lives) resize(n int, t *timing) {
	if t.idle > 0 {
		l.caps = resized(l.caps, n)
	}
	if t.renews {
		l.due = resized(l.due, n)
	}
	if l.ring != nil {
		l.ring.Resize(n)
	}
}

// copy copies what other lives have of entry from to entry to, except its task.
func (l *lives) copy(to uint32, other *lives, from uint32) {
	if l.caps != nil {
		l.caps[to] = other.caps[from]
	}
	if l.due != nil {
		l.due[to].Set(other.due[from].Get())
	}
}

// rename moves the task of an entry to another slot.
func (l *lives) rename(from, to uint32) {
	if l.ring != nil {
		l.ring.Rename(from, to)
	}
}

// forget drops what the ring knows of slot i, which is free.
func (l *lives) forget(i uint32) {
	if l.ring != nil {
		l.ring.Forget(i)
	}
}

// drop frees the memory, but for caps, which walks need.
func (l *lives) drop(t *timing) {
	l.anchor(false, t)
	l.due = nil
	l.dropTasks()
}

// dropCaps drops what drop leaves.
func (l *lives) dropCaps() { l.caps = nil }
