// This file has what a tick does: it moves the clock on, visits the tasks of each shard, and removes
// what has expired.

package cache

import (
	"runtime"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache/internal/clock"
)

// expireBatch advances the ring to now, by at most a batch of tasks, and removes what has
// expired. It returns done when no task is left to visit.
func (s *shard[K, V]) expireBatch() (done, reported bool) {
	now := s.common.time.clock.Now()
	tick := now / int64(s.common.time.tick)
	s.lock.Lock()
	if s.split || s.lives.ring == nil {
		s.lock.Unlock()
		return true, false
	}
	if !s.moveEarlier(tick, batch) {
		s.lock.Unlock()
		return false, false
	}
	var ahead prefetched
	done = s.lives.ring.AdvanceAll(tick, batch, func(i uint32) (again int64) {
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
		s.common.observers.lateness.Observe(time.Duration(now - end))
		s.remove(i, s.prefetchedHash(i, &ahead), Expired)
		return 0
	})
	if done {
		s.maybeShrink()
	}
	if s.lives.ring != nil {
		s.lives.visited(tick)
	}
	return done, s.unlock()
}

// prefetch reads what the removal of the entries of some tasks needs, for all of them at once:
// first the entries with their keys and neighbours, and then the index. It sets f, except if
// there are no tasks.
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
		if s.turn.order != nil {
			sum += s.turn.order.PrefetchRemove(i)
		}
	}
	for _, h := range f.hashes[:f.n] {
		sum += s.index.Prefetch(h)
	}
	s.turn.sink += uint32(sum)
}

// prefetchedHash returns the hash of the key of entry i, which is visited now.
func (s *shard[K, V]) prefetchedHash(i uint32, f *prefetched) uint64 {
	for f.next < f.n {
		n := f.next
		f.next++
		if f.slots[n] == i {
			return f.hashes[n]
		}
	}
	return s.hashOf(i)
}

// expire removes what has expired, and returns the tick of the next visit, or noTick. It
// takes the shards in turn, a batch of each, so that the driver holds no lock for long.
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
	now := c.common.time.clock.Now() / int64(c.common.time.tick)
	for i := range t.shards {
		s := &t.shards[i]
		if s.lives.nextVisit.Load() <= now {
			done, reported := s.expireBatch()
			busy = busy || !done
			c.common.observers.settle(reported)
		}
		next = min(next, s.lives.nextVisit.Load())
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
