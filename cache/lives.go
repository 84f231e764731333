// This file has the lives of a shard's entries: when each is to be removed or loaded anew, beside its
// deadline; and the ring, whose tasks are visited no later than the entries expire.
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
	"github.com/pinwheel-cache/pinwheel/timingwheel/ring"
)

// A lives has what a shard keeps of the lives of its entries.
type lives struct {
	ring      *ring.Ring       // nil before the first TTL
	caps      []int64          // deadlines by TTL, if Idle makes those of entries differ
	due       []clock.Deadline // when they are to be loaded anew, with Refresh or Grace; see due.go
	earlier   *earlier         // has the entries that the next tick looks at: nil without any
	nextVisit atomic.Int64     // the tick by which the ring has to be visited, or noTick
	anchored  bool             // an entry waits to expire, in a cache with OnRemove
}

// set gives entry i, whose deadline is d, a life. It returns true if its task must be set, or set
// anew. If the slot has a task already, of this entry or of the one it replaces, and the ring visits
// that soon enough, the task stays as it is: expireBatch then postpones it.
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

// at returns the life of entry i, whose deadline is d and whose key has hash h, and which is being
// used now.
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
	return ok && (tick-1)*int64(t.tick) < deadline // as tick <= tickAt(deadline), but faster
}

// setTask makes the ring visit entry i at a tick. makeTasks must have been called.
func (l *lives) setTask(i uint32, tick int64, t *timing) {
	// The driver advances a ring only when there is something to visit. Without this a task that
	// is due soon would go to the overflow level.
	if now, length := t.clock.Coarse(), int64(t.tick); now-l.ring.Now()*length >= length {
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

// late reports whether the ring is late by more than a tick or two. The lock must be held,
// at least for reading.
func (l *lives) late(now int64, t *timing) bool {
	if l.ring == nil {
		return false
	}
	next, ok := l.ring.NextVisit()
	return ok && next+2 <= now/int64(t.tick)
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

// slide postpones the end of idleness of entry i, whose deadline is d and whose key has hash h, and
// which is being read. It returns false if another caller has found the entry expired meanwhile.
func (l *lives) slide(i uint32, d *clock.Deadline, h uint64, t *timing) bool {
	return postpone(d, min(t.idleEnd(h), l.caps[i]))
}

// postpone sets a deadline, unless another caller has set a later one. For never the
// task would have to be removed, so the deadline, 292 years from now, stays as it is. It returns
// false if the deadline has been found passed.
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

// retime gives entry i, which a reader found alive and whose deadline is d, another one. It leaves the
// ring alone: the ring visits the task as planned, and expireBatch postpones it then. If that visit
// would be too late, the entry must be in earlier. retime returns false, and does nothing, if
// there is no earlier yet, or the task must be set or removed, which takes the lock for writing.
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

// markEarlier marks entry i, of n slots, if its new deadline is earlier than the old one.
func (l *lives) markEarlier(i uint32, old, deadline int64, n int, t *timing) {
	if l.earlier == nil {
		l.awaitEarlier(n, t)
	}
	l.earlier.mark(i, old, deadline)
}

// awaitEarlier makes earlier, for n slots, and the next tick look at it.
func (l *lives) awaitEarlier(n int, t *timing) {
	l.earlier = newEarlier(n)
	l.visitBy(t.nextTick(), t)
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

// copy copies what others keep of entry from, but for its task, for entry to.
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
