package timingwheel

import (
	"time"

	"github.com/pinwheel-cache/pinwheel/timingwheel/ring"
)

// A timerShard is a shard of timers by handle. An entry is the handle, which holds
// its task number.
type timerShard struct {
	shard[*Timer]
}

func (s *timerShard) init(t *Timers, i int) {
	s.shard.init(&t.wheel, i, s)
}

// start sets the first deadline of a timer that nobody else has.
func (s *timerShard) start(t *Timer, wait span) {
	s.mu.Lock()
	if s.closed || !s.admit(t) {
		s.unlock()
		return
	}
	t.state.begin(wait.deadline)
	tick := s.enter(t, wait)
	s.unlock()
	s.owner.wakeBy(tick)
}

// lives reports whether a timer counts for the limit: it has a task, or a running call may be followed by
// another.
func (t *Timer) lives() bool {
	state := t.state.Load()
	return state > 0 || state == claimed || t.repeat != nil && t.repeat.calling
}

// admit counts a timer for the limit, before it gets a deadline. If the wheel is full it refuses the timer.
func (s *timerShard) admit(t *Timer) bool {
	if s.owner.quota.limit == 0 || t.lives() || s.owner.quota.acquire() {
		return true
	}
	s.counts.refused++
	t.state.Store(refused)
	return false
}

// enter gives a timer that was admitted a task. It returns the tick by which the driver has to be
// awake.
func (s *timerShard) enter(t *Timer, wait span) (tick int64) {
	if s.full() {
		s.grow()
	}
	t.task = s.add(t)
	s.counts.started++
	return s.set(t.task, wait)
}

// reset is the part of Reset that takes the lock.
func (s *timerShard) reset(t *Timer, wait span) bool {
	s.mu.Lock()
	tick, was := s.restart(t, wait)
	was = t.unsend() || was
	s.unlock()
	s.owner.wakeBy(tick)
	return was
}

// restart gives a timer another deadline, whatever its state. It returns the tick
// by which the driver has to be awake, and whether the timer was to fire before.
func (s *timerShard) restart(t *Timer, wait span) (tick int64, was bool) {
	if s.closed || t.repeat != nil && t.repeat.times == 0 || !s.admit(t) {
		return never, false
	}
	calling := false
	if t.repeat != nil {
		t.repeat.restart(wait, s.clock.moment(wait.deadline))
		calling = t.repeat.calling
	}
	before := t.state.Swap(wait.deadline)
	switch {
	case before > 0 || before == claimed:
		s.counts.moved++
		return s.set(t.task, wait), true
	case calling:
		t.state.Store(running) // the call will set the deadline when it ends
		return never, before != noTask
	default:
		return s.enter(t, wait), before != noTask && before != refused
	}
}

// unsend takes back from C a time that was not received yet, and reports whether
// there was one. shard.mu must be held, so that the driver does not send meanwhile.
// It leaves C alone if the timer does not send on it.
func (t *Timer) unsend() bool {
	if !t.sends {
		return false
	}
	select {
	case <-t.C:
		return true
	default:
		return false
	}
}

// visit moves the shard on to a tick. The driver calls it.
func (s *timerShard) visit(tick int64) (done bool) {
	s.mu.Lock()
	defer s.unlock()
	return s.advance(tick, s.visited)
}

// visited is called for a timer whose task is due. It claims the timer or sends, or
// returns the ticks until the deadline if Reset has postponed it.
func (s *timerShard) visited(i uint32) (again int64) {
	s.prefetch(s.ring.Ahead())
	t := s.entries[i]
	for {
		deadline := t.state.Load() // positive, as there is a task in a slot
		tick := s.clock.dueTick(deadline)
		switch {
		case tick > s.ring.Now():
			return tick - s.ring.Now() // it was reset
		case !t.sends:
			if t.state.CompareAndSwap(deadline, claimed) {
				return ring.Hold
			}
		case t.state.CompareAndSwap(deadline, noTask):
			return s.send(t, tick)
		}
	}
}

// send sends on the channel of a timer that was due at a tick. It returns the ticks
// until the timer is due again, or 0 if it does not repeat.
func (s *timerShard) send(t *Timer, tick int64) (again int64) {
	s.fired(tick, s.clock.now())
	if t.repeat == nil {
		s.drop(t.task)
		s.owner.quota.release(1) // before the receiver may start another
		t.f()
		return 0
	}
	t.f()
	wait := t.repeat.nextInterval(s.clock)
	t.repeat.plan(wait.deadline, time.Time{})
	t.state.Store(wait.deadline)
	s.counts.started++
	return s.clock.dueTick(wait.deadline) - s.ring.Now()
}

// callNext calls the callback of the timer that claimNext claims. It reports whether there was
// one.
func (s *timerShard) callNext(upTo int64) bool {
	t, ok := s.claimNext(upTo)
	if !ok {
		return false
	}
	if t.repeat != nil {
		defer s.planNext(t)
	}
	t.f()
	return true
}

// claim drops the task of timer i. A timer that repeats still counts for the limit.
func (s *timerShard) claim(i uint32) {
	t := s.entries[i]
	s.drop(i)
	state := int64(noTask)
	switch {
	case t.repeat == nil:
		s.owner.quota.release(1)
	case t.repeat.claim():
		state = running
	}
	t.state.Store(state)
}

// prefetch reads the handles of some tasks, all at once.
func (s *timerShard) prefetch(tasks []uint32) {
	for _, i := range tasks {
		if t := s.entries[i]; t != nil { // else a tombstone
			s.sink += uint64(t.state.Load())
		}
	}
}

// planNext plans the next call of a timer that repeats. It is called when a call has
// returned, panicked, or ended its goroutine.
func (s *timerShard) planNext(t *Timer) {
	s.mu.Lock()
	r := *t.repeat
	s.mu.Unlock()
	var (
		wait   span
		moment time.Time
		ok     bool
	)
	defer func() { s.called(t, wait, moment, ok) }() // also if the Scheduler panics
	wait, moment, ok = r.next(s.clock)
}

// called ends a call of a timer that repeats. The next begins at the end of wait, if
// ok and the timer was neither stopped nor reset meanwhile.
func (s *timerShard) called(t *Timer, wait span, moment time.Time, ok bool) {
	s.mu.Lock()
	r := t.repeat
	r.calling = false
	if r.restarted {
		wait, moment, ok = span{s.clock.now(), r.planned}, r.moment, true
	}
	tick := int64(never)
	if ok && t.state.Load() == running && !s.closed {
		r.plan(wait.deadline, moment)
		t.state.Store(wait.deadline)
		tick = s.enter(t, wait)
	} else {
		t.state.Store(noTask)
		s.owner.quota.release(1)
	}
	s.unlock()
	s.owner.wakeBy(tick)
}

// close stops all timers for good.
func (s *timerShard) close() {
	s.mu.Lock()
	defer s.unlock()
	s.closed = true
	for i, t := range s.entries[:s.used] {
		if s.live(uint32(i)) {
			t.state.Store(noTask)
			s.owner.quota.release(1)
			s.counts.removed++
		}
	}
	s.renew()
}

func (s *timerShard) clear() { s.renew() }

// fit makes room for n timers. There must not be more.
func (s *timerShard) fit(n int) { s.resize(n, renumber) }

func renumber(t *Timer, task uint32) { t.task = task }
