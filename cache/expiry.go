package cache

import (
	"math"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/pinwheel-cache/pinwheel/timingwheel"
)

const (
	minTick, defaultTick, maxTick = 10 * time.Millisecond, 100 * time.Millisecond, time.Second

	// ticksPerTTL is how finely the shortest TTL of the options is cut.
	ticksPerTTL = 100

	// slots is the size of a shard's ring: 4 KiB with both levels, and a revolution
	// of five times the shortest TTL of the options if that is from 1 to 100 s.
	slots = 512

	// batch is how many tasks or entries one hold of a shard's lock deals with, when
	// there are many: some 5 µs of work, or 20 if all of it has to come from memory.
	batch = 64
)

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

// lifeOf returns the life of an entry with the given TTL that begins now. A TTL
// of 0 means for ever.
func (c *Cache[K, V]) lifeOf(h uint64, ttl time.Duration) life {
	if ttl == 0 && c.idle == 0 {
		return forever
	}
	if c.jitter != 0 && ttl != 0 {
		ttl = c.jittered(ttl)
	}
	now := c.timeFor(h, ttl)
	l := forever
	if ttl > 0 {
		l.cap = after(now, ttl)
		l.deadline = l.cap
	}
	if c.idle > 0 {
		l.deadline = min(after(now, c.idle), l.cap)
	}
	return l
}

// timeFor returns the time at which a life with the given TTL, or idleness,
// begins: the exact one if either is short, and else one that is early by no more
// than a hundredth of it.
func (c *Cache[K, V]) timeFor(h uint64, ttl time.Duration) int64 {
	return c.clock.recent(h, c.idle > 0 && c.idle < c.short || ttl > 0 && ttl < c.short)
}

// jittered spreads a TTL by the jitter of the options.
func (c *Cache[K, V]) jittered(ttl time.Duration) time.Duration {
	spread := float64(ttl) * (1 + c.jitter*(2*rand.Float64()-1))
	if spread >= math.MaxInt64 {
		return math.MaxInt64
	}
	return max(time.Duration(spread), 1)
}

// setLife gives entry i a life, and a task in the ring. A task that it has, its own
// or that of the entry it takes over, is left alone if it comes up soon enough:
// expire puts it off then.
func (s *shard[K, V]) setLife(i uint32, l life) {
	e := &s.entries[i]
	old := e.deadline.load()
	e.deadline.set(l.deadline)
	if s.caps != nil {
		s.caps[i] = l.cap
	}
	switch {
	case l.deadline == never:
		if old != never {
			s.ring.Remove(i)
		}
	case old == never || old == dead || l.deadline < old && !s.comesBy(i, l.deadline):
		s.schedule(i, s.cache.tickAt(l.deadline))
	}
}

// comesBy reports whether the ring comes by the task of entry i in time for a
// deadline.
func (s *shard[K, V]) comesBy(i uint32, deadline int64) bool {
	tick, ok := s.ring.Visit(i)
	return ok && (tick-1)*int64(s.cache.tick) < deadline // as tick <= tickAt(deadline), but faster
}

// schedule makes entry i due at a tick.
func (s *shard[K, V]) schedule(i uint32, due int64) {
	if s.ring == nil {
		s.ring = timingwheel.NewRing(slots)
		s.ring.Resize(len(s.entries))
	}
	if s.ring.Len()+s.ring.Tombstones() == 0 {
		// An empty ring is not advanced by the driver. Here it catches up, or
		// else it would go through the revolutions it missed with this task.
		s.ring.Advance(s.cache.clock.coarse.Load()/int64(s.cache.tick), 0, nil)
	}
	s.ring.Set(i, due)
}

// tickAt returns the first tick at or after a deadline: the wheel is never
// early, and at most one tick late.
func (c *Cache[K, V]) tickAt(deadline int64) int64 {
	tick := int64(c.tick)
	return (deadline-1)/tick + 1
}

// retime gives entry i, which a reader found alive, another deadline, or leaves the
// one it has if that is earlier by no more than slack. It leaves the ring alone: the
// task comes up when it was to, and expire puts it off then. It returns false, and
// has done nothing, if that is too late, or the task has to be set or removed, which
// takes the lock for writing.
func (s *shard[K, V]) retime(i uint32, deadline, slack int64) bool {
	d := &s.entries[i].deadline
	for {
		old := d.load()
		if old == never || old == dead || deadline < old && !s.comesBy(i, deadline) {
			return false
		}
		if 0 <= deadline-old && deadline-old <= slack || d.swap(old, deadline) {
			return true
		}
	}
}

// slack is what retime may forgo for a new TTL: nothing, unless the program is busy.
// Then one keep-alive after another puts off the same deadline by next to nothing,
// and the processors had better share the entry than take it from each other.
func (c *Cache[K, V]) slack(ttl time.Duration) int64 {
	if shortest := float64(ttl) * (1 - c.jitter); shortest < float64(c.short) || !c.clock.busy() {
		return 0
	}
	return int64(c.tick / 4)
}

// slide puts off the end of idleness of entry i, which is being read now with hash
// h. It returns false if somebody has found the entry expired meanwhile.
func (s *shard[K, V]) slide(i uint32, h uint64) bool {
	return s.slideTo(i, min(after(s.cache.timeFor(h, 0), s.cache.idle), s.caps[i]))
}

// slideTo is slide to a deadline, unless somebody got further meanwhile. To never, the
// task would have to be removed: there, 292 years from now, it stays as it is.
func (s *shard[K, V]) slideTo(i uint32, deadline int64) bool {
	d := &s.entries[i].deadline
	for {
		switch old := d.load(); {
		case old == dead:
			return false
		case deadline <= old || deadline == never || d.swap(old, deadline):
			return true
		}
	}
}

// expireBatch works through the ticks up to now, at most a batch of tasks. It
// returns done when there are none left.
func (s *shard[K, V]) expireBatch() (done, reported bool) {
	now := s.cache.clock.now()
	s.lock.Lock()
	done = s.ring.AdvanceAll(now/int64(s.cache.tick), batch, func(i uint32) (again int64) {
		e := &s.entries[i]
		deadline := e.deadline.load()
		if deadline > now { // not due, or put off
			return s.cache.tickAt(deadline) - s.ring.Now()
		}
		if deadline == dead { // no longer known, but not before the last tick
			deadline = (s.ring.Now() - 1) * int64(s.cache.tick)
		}
		s.cache.lateness.Observe(time.Duration(now - deadline))
		s.remove(i, s.cache.hasher.Hash(e.key), Expired)
		return 0
	})
	if done {
		s.maybeShrink()
	}
	return done, s.unlock()
}

// visitBy reports whether the ring has anything to visit up to a tick.
func (s *shard[K, V]) visitBy(tick int64) bool {
	r := s.lock.RLock()
	defer s.lock.RUnlock(r)
	if s.ring == nil {
		return false
	}
	next, ok := s.ring.NextVisit()
	return ok && next <= tick
}

// expire removes what has expired. It takes the shards in turn, a batch of each,
// so that no shard has the driver in its lock for long.
func (c *Cache[K, V]) expire() {
	for busy := true; busy; {
		busy = false
		for i := range c.shards {
			s := &c.shards[i]
			if !s.visitBy(c.clock.now() / int64(c.tick)) {
				continue
			}
			done, reported := s.expireBatch()
			busy = busy || !done
			c.settle(reported)
		}
		runtime.Gosched()
	}
}
