// This file has the tick: it advances the clock, visits the tasks of each shard, and removes entries
// that have expired. driver.go says when it comes.

package cache

import (
	"runtime"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache/internal/clock"
)

// expireSome advances the ring towards now, by at most perHold tasks, and removes entries that have
// expired. It returns done when no task is left to visit.
func (s *shard[K, V]) expireSome() (done, reported bool) {
	now := s.common.time.clock.Now()
	tick := now / int64(s.common.time.clock.PerTick)
	s.lock.Lock()
	if s.split || !s.lives.any() {
		s.lock.Unlock()
		return true, false
	}
	if !s.moveEarlier(tick, perHold) {
		s.lock.Unlock()
		return false, false
	}
	var ahead prefetched
	done = s.lives.ring.AdvanceAll(tick, perHold, func(i uint32) (again int64) {
		s.prefetch(s.lives.ring.Ahead(), &ahead)
		e := &s.entries[i]
		deadline := e.deadline.Get()
		if deadline > now { // not due, or postponed
			return s.common.time.tickAt(deadline) - s.lives.ring.Now()
		}
		end := s.end(i)
		if end > now { // in Grace
			e.deadline.Set(-clock.TimeOf(deadline))
			return s.common.time.tickAt(end) - s.lives.ring.Now()
		}
		s.common.observers.lateness.Observe(time.Duration(now - max(end, s.common.time.graceCut.Load())))
		h, ok := ahead.hash(i)
		if !ok {
			h = s.hashOf(i)
		}
		s.remove(i, h, Expired)
		return 0
	})
	if done {
		s.maybeShrink()
	}
	if s.lives.any() {
		s.lives.visited(tick)
	}
	return done, s.unlock()
}

// prefetch reads what the removal of some entries needs into the processor's cache: first the entries
// with their keys and neighbours, then the index. It sets f, unless there are no slots.
func (s *shard[K, V]) prefetch(slots []uint32, f *prefetched) {
	if len(slots) == 0 {
		return
	}
	f.n, f.next = 0, 0
	sum := uint64(0)
	for _, i := range slots {
		if !s.entries[i].live() { // a tombstone
			continue
		}
		f.slots[f.n], f.hashes[f.n] = i, s.hashOf(i)
		f.n++
		sum += s.turn.prefetchRemove(i)
	}
	for _, h := range f.hashes[:f.n] {
		sum += s.index.Prefetch(h)
	}
	s.turn.sunk(sum)
}

// expire removes entries that have expired, and returns the tick of the next visit, or noTick. It
// takes perHold tasks of each shard in turn, so that it holds no lock for long.
func (c *Cache[K, V]) expire() (next int64) {
	for busy := true; busy; {
		t := c.common.table.Load()
		next, busy = c.expireIn(t)
		if larger := t.larger.Load(); larger != nil {
			later, more := c.expireIn(larger)
			next, busy = min(next, later), busy || more
		}
		runtime.Gosched()
	}
	return next
}

// expireIn is a round of expire through the shards of a table. It returns busy if there is
// more to do now.
func (c *Cache[K, V]) expireIn(t *table[K, V]) (next int64, busy bool) {
	next = noTick
	now := c.common.time.clock.Now() / int64(c.common.time.clock.PerTick)
	for i := range t.shards {
		s := &t.shards[i]
		if s.lives.next() <= now {
			done, reported := s.expireSome()
			busy = busy || !done
			c.common.observers.settle(reported)
		}
		next = min(next, s.lives.next())
	}
	return next, busy
}

// tickNow is one tick: it advances the clock, sets the next tick, and expires entries.
func (c *Cache[K, V]) tickNow() {
	if !c.gate.enter() {
		return // closed
	}
	defer c.gate.exit()
	c.common.time.clock.Tick()
	visiting := c.common.time.driver.working.TryLock()
	c.common.time.beginTick(visiting)
	if visiting {
		defer c.common.time.driver.working.Unlock()
		c.common.time.endTick(c.expire())
	}
}
