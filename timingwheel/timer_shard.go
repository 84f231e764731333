package timingwheel

import "time"

// A timerShard is a shard of timers by handle. An entry is the handle, which has
// its task number.
type timerShard struct {
	shard[*Timer]
	timers *Timers
}

func (s *timerShard) init(t *Timers, i int) {
	s.shard.init(&t.wheel, i, t.slots)
	s.timers = t
}

// start gives a timer that has none a deadline.
func (s *timerShard) start(t *Timer, wait span) {
	s.mu.Lock()
	if s.closed {
		s.unlock()
		return
	}
	t.state.Store(wait.deadline)
	tick := s.enter(t, wait)
	s.unlock()
	s.timers.wakeBy(tick)
}

// enter gives a timer a task. It returns the tick by which the driver has to be
// awake.
func (s *timerShard) enter(t *Timer, wait span) (tick int64) {
	if s.full() {
		s.resize(max(minPlaces, 2*len(s.entries)), renumber)
	}
	t.slot = s.add(t)
	s.counts.started++
	return s.set(t.slot, wait)
}

func renumber(t *Timer, slot uint32) { t.slot = slot }

// reset is Reset of what cannot be done without the lock.
func (s *timerShard) reset(t *Timer, wait span) bool {
	s.mu.Lock()
	tick, was := s.restart(t, wait)
	was = t.unsend() || was
	s.unlock()
	s.timers.wakeBy(tick)
	return was
}

// restart gives a timer another deadline, whatever it is doing. It returns the tick
// by which the driver has to be awake, and whether the timer was to fire before.
func (s *timerShard) restart(t *Timer, wait span) (tick int64, was bool) {
	if s.closed || t.repeat != nil && t.repeat.times == 0 {
		return idle, false
	}
	calling := false
	if t.repeat != nil {
		t.repeat.restart(wait, s.clock.moment(wait.deadline))
		calling = t.repeat.calling
	}
	before := t.state.Swap(wait.deadline)
	switch {
	case before > 0 || before == claimed:
		return s.set(t.slot, wait), true
	case calling:
		t.state.Store(running) // the call will set the deadline when it ends
		return idle, before != stopped
	default:
		return s.enter(t, wait), before != stopped
	}
}

// visit is the driver's visit.
func (s *timerShard) visit(tick int64) (done bool) {
	s.mu.Lock()
	defer s.unlock()
	return s.advance(tick, s.visited)
}

// visited is told of a timer whose task is due.
func (s *timerShard) visited(i uint32) (again int64) {
	t := s.entries[i]
	for {
		deadline := t.state.Load() // positive, as there is a task in a slot
		tick := s.clock.dueTick(deadline)
		switch {
		case tick > s.ring.Now():
			return tick - s.ring.Now() // it was reset
		case !t.sends:
			if t.state.CompareAndSwap(deadline, claimed) {
				return Hold
			}
		case t.state.CompareAndSwap(deadline, stopped):
			return s.send(t, tick)
		}
	}
}

// send sends on the channel of a timer that was due at a tick. If it repeats it is
// due again after so many ticks.
func (s *timerShard) send(t *Timer, tick int64) (again int64) {
	s.fired(tick, s.clock.now())
	t.f()
	if t.repeat == nil {
		s.drop(t.slot)
		return 0
	}
	wait := t.repeat.nextInterval(s.clock)
	t.repeat.plan(wait.deadline, time.Time{})
	t.state.Store(wait.deadline)
	s.counts.started++
	return s.clock.dueTick(wait.deadline) - s.ring.Now()
}

// callNext claims the timer that has been due for longest and calls its callback.
// It reports whether there was one. Until the claim the timer can be stopped.
func (s *timerShard) callNext() bool {
	now := s.clock.now()
	s.mu.Lock()
	i, due, ok := s.ring.Take()
	if !ok {
		s.mu.Unlock()
		return false
	}
	t := s.entries[i]
	s.drop(i)
	s.fired(due, now)
	tick := s.shrinkAfter(s.clock.ticks(now))
	state := int64(stopped)
	if t.repeat != nil && t.repeat.claim() {
		state = running
	}
	t.state.Store(state)
	more := s.ring.Held() > 0
	s.unlock()
	if more {
		s.timers.more()
	}
	s.timers.wakeBy(tick)
	if t.repeat != nil {
		defer s.planNext(t)
	}
	t.f()
	return true
}

// planNext plans the next call of a timer that repeats, when one has ended in
// whatever way.
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

// called ends a call of a timer that repeats. The next is to begin at the end of a
// span, if there is one and nothing has happened to the timer meanwhile.
func (s *timerShard) called(t *Timer, wait span, moment time.Time, ok bool) {
	s.mu.Lock()
	r := t.repeat
	r.calling = false
	if r.restarted {
		wait, moment, ok = span{s.clock.now(), r.planned}, r.moment, true
	}
	tick := int64(idle)
	if ok && t.state.Load() == running && !s.closed {
		r.plan(wait.deadline, moment)
		t.state.Store(wait.deadline)
		tick = s.enter(t, wait)
	} else {
		t.state.Store(stopped)
	}
	s.unlock()
	s.timers.wakeBy(tick)
}

// close stops all timers for good.
func (s *timerShard) close() {
	s.mu.Lock()
	defer s.unlock()
	s.closed = true
	for i, t := range s.entries[:s.used] {
		if s.live(uint32(i)) {
			t.state.Store(stopped)
			s.counts.removed++
		}
	}
	s.renew()
}

// shrink gives memory back if many timers have gone, and reports whether it did.
func (s *timerShard) shrink() bool {
	s.mu.Lock()
	defer s.unlock()
	return s.maybeShrink()
}

// maybeShrink is shrink for those who have the lock.
func (s *timerShard) maybeShrink() bool {
	if !s.sparse() {
		return false
	}
	s.resize(max(minPlaces, 2*s.ring.Len()), renumber)
	return true
}
