package cache

import (
	"sync"
	"sync/atomic"
	"time"
	"weak"
)

// patience is for how many ticks the driver goes on without an entry that
// expires. Starting and stopping it costs more than a tick.
const patience = 10

// A driver calls the cache at every tick while there are entries that expire.
// It is a timer of the runtime, not a goroutine: between ticks there is none.
// The timer holds the cache weakly, so that a cache nobody else holds is
// collected, and with it the driver.
type driver struct {
	// running is false only if no tick is to come. Who gives an entry a
	// deadline looks at it after that; the tick that clears it looks for such
	// entries after that. So one of them sees the other.
	running atomic.Bool

	// working is held by the tick that expires entries, which takes long when
	// callbacks are behind. Ticks that come meanwhile only keep the coarse
	// clock going, on which the exactness of reads depends.
	working sync.Mutex

	mu     sync.Mutex // guards what follows, and changes of running
	timer  *time.Timer
	idle   int // ticks since the last one that found an entry that expires
	closed bool
}

// drive makes sure that the driver runs, after an entry was given a deadline, or
// never, and the lock released.
func (c *Cache[K, V]) drive(deadline int64) {
	if deadline != never && !c.driver.running.Load() {
		c.startDriver()
	}
}

func (c *Cache[K, V]) startDriver() {
	d := &c.driver
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.running.Load() {
		return
	}
	d.running.Store(true)
	d.idle = 0
	c.clock.tick()
	wait := c.untilTick(c.clock.now())
	if d.timer == nil {
		d.timer = time.AfterFunc(wait, ticker(weak.Make(c)))
		return
	}
	d.timer.Reset(wait)
}

// ticker returns what the timer calls. It must not hold the cache itself.
func ticker[K comparable, V any](w weak.Pointer[Cache[K, V]]) func() {
	return func() {
		if c := w.Value(); c != nil {
			c.tickNow()
		}
	}
}

// tickNow is one tick.
func (c *Cache[K, V]) tickNow() {
	if !c.gate.enter() {
		return // closed
	}
	defer c.gate.exit()
	c.clock.tick()
	if !c.nextTick() {
		return
	}
	if c.driver.working.TryLock() {
		defer c.driver.working.Unlock()
		c.expire()
	}
}

// nextTick sets the timer for the next tick. It returns false if there is none
// to come, because no entry has had a deadline for a while.
func (c *Cache[K, V]) nextTick() bool {
	d := &c.driver
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return false
	}
	d.idle++
	if c.expiring() {
		d.idle = 0
	}
	if d.idle >= patience {
		d.running.Store(false)
		c.clock.pause()
		if !c.expiring() {
			return false
		}
		d.running.Store(true)
		c.clock.tick()
	}
	d.timer.Reset(c.untilTick(c.clock.now()))
	return true
}

// expiring reports whether any entry is to expire.
func (c *Cache[K, V]) expiring() bool {
	for i := range c.shards {
		s := &c.shards[i]
		r := s.lock.RLock()
		n := 0
		if s.ring != nil {
			n = s.ring.Len()
		}
		s.lock.RUnlock(r)
		if n > 0 {
			return true
		}
	}
	return false
}

// stopDriver sees to it that no tick begins any more. One may still be at work.
func (c *Cache[K, V]) stopDriver() {
	d := &c.driver
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.running.Store(false)
	c.clock.pause()
	if d.timer != nil {
		d.timer.Stop()
	}
}
