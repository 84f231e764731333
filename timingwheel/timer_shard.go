package timingwheel

import "time"

// A timerShard is a shard of timers by handle. An entry is the handle, which has
// its task number.
type timerShard struct {
	shard[*Timer]
	timers *Timers
	fired  []*Timer               // by visit, to be called by the driver after the lock is released
	left   map[*Timer]*time.Timer // timers of contexts that go on after close
}

func (s *timerShard) init(t *Timers, slots int) {
	s.shard.init(&t.clock, slots)
	s.timers = t
}

// start gives a timer that has none a deadline.
func (s *timerShard) start(t *Timer, wait span) {
	s.mu.Lock()
	if s.closed {
		s.leave(t, wait.deadline)
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
		t.repeat.restart(wait.deadline, s.clock.moment(wait.deadline))
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

// visit is the driver's visit. What needs no worker is called here, after the
// lock was released.
func (s *timerShard) visit(tick int64) (done bool) {
	s.mu.Lock()
	done = s.advance(tick, s.visited)
	fired := s.fired
	s.fired = nil
	s.unlock()
	for _, t := range fired {
		s.timers.pool.Run(t.f)
	}
	return done
}

// visited is told of a timer whose task is due.
func (s *timerShard) visited(i uint32) (again int64) {
	t := s.entries[i]
	for {
		deadline := t.state.Load() // positive, as there is a task in a slot
		tick := s.clock.dueTick(deadline)
		if tick > s.ring.Now() {
			return tick - s.ring.Now() // it was reset
		}
		if t.kind == byWorker {
			if t.state.CompareAndSwap(deadline, claimed) {
				return Hold
			}
		} else if t.state.CompareAndSwap(deadline, stopped) {
			s.fire(t, tick)
			return 0
		}
	}
}

// fire is the end of a timer that needs no worker.
func (s *timerShard) fire(t *Timer, tick int64) {
	s.drop(t.slot)
	s.counts.fired++
	s.late(tick)
	if t.kind == byDriver {
		s.fired = append(s.fired, t)
		return
	}
	t.f()
}

// callNext claims the timer that has been due for longest and calls its callback.
// It reports whether there was one. Until the claim the timer can be stopped.
func (s *timerShard) callNext() bool {
	s.mu.Lock()
	i, due, ok := s.ring.Take()
	if !ok {
		s.mu.Unlock()
		return false
	}
	t := s.entries[i]
	s.drop(i)
	s.counts.fired++
	if s.ring.Len() == 0 { // or else it is left to tidy
		s.maybeShrink()
	}
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
	s.late(due)
	if t.repeat != nil {
		defer s.again(t)
	}
	t.f()
	return true
}

// again plans the next call of a timer that repeats, when one has ended in
// whatever way.
func (s *timerShard) again(t *Timer) {
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
		wait.now, wait.deadline = s.clock.now(), r.planned
		moment, ok = r.moment, true
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
			s.leave(t, t.state.Swap(stopped))
			s.counts.removed++
		}
	}
	s.renew()
}

// leave has the timer of a context, which somebody may wait for without another
// way out, go on in package time. Other timers end with the wheel.
func (s *timerShard) leave(t *Timer, deadline int64) {
	if t.kind != byDriver {
		return
	}
	if s.left == nil {
		s.left = make(map[*Timer]*time.Timer)
	}
	s.left[t] = time.AfterFunc(time.Duration(deadline-s.clock.now()), t.f)
}

// forget stops a timer that goes on after close.
func (s *timerShard) forget(t *Timer) {
	if left := s.left[t]; left != nil {
		left.Stop()
		delete(s.left, t)
	}
}

// tidy gives memory back if many timers have gone, and reports whether it did.
func (s *timerShard) tidy() bool {
	s.mu.Lock()
	defer s.unlock()
	return s.maybeShrink()
}

// maybeShrink is tidy for those who have the lock.
func (s *timerShard) maybeShrink() bool {
	if !s.sparse() {
		return false
	}
	s.resize(max(minPlaces, 2*s.ring.Len()), renumber)
	return true
}
