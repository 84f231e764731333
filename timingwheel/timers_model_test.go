package timingwheel

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// The model keeps for every timer when it has to fire, from the documentation
// alone, and is told of every call and of every callback. Most of what it says
// is exact. It leaves two things open, and takes what it sees:
//
//   - A delay that is not positive, given just at a tick: the timer may fire at
//     that tick or at the next. The same is true of a deadline that has passed,
//     when a call of a timer that repeats ends: at once or at the next tick.
//   - What a callback does to a timer that is due at the very same tick: that may
//     have been claimed already, or not.

// tmTick is the tick of the model's wheel, in whole units.
const (
	tmUnit = time.Millisecond
	tmTick = 8 * tmUnit
)

// A tmKind is the way in which a timer was made.
type tmKind int

const (
	tmAfterFunc tmKind = iota
	tmAt
	tmNewTimer
	tmEvery
	tmRepeat
	tmSchedule
	tmKinds
)

func (k tmKind) repeats() bool { return k >= tmEvery }

// A tmAct is what a callback does, a step of its script.
type tmAct struct {
	kind   tmActKind
	target int // a number of a timer; -1 for itself
	d      time.Duration
}

type tmActKind int

const (
	tmDoStop tmActKind = iota
	tmDoReset
	tmDoSpawn
	tmDoBlock
	tmDoKinds
)

// A tmScript is what one call does and how it ends.
type tmScript struct {
	acts   []tmAct
	ending int // 0 returns, 1 panics, 2 Goexit
}

// A tmStep is a step of a plan: fake time passes, and then something is done.
type tmStep struct {
	advance time.Duration
	op      tmOp
	kind    tmKind // of a new timer
	target  int
	d       time.Duration
	times   int
	scripts []tmScript
}

type tmOp int

const (
	tmStart tmOp = iota
	tmStop
	tmReset
	tmReceive
	tmWaitFor // a blocking receive
	tmNothing
)

type tmPlan struct {
	slots int
	steps []tmStep
}

func drawTimersPlan(t *rapid.T) tmPlan {
	p := tmPlan{slots: rapid.IntRange(1, 12).Draw(t, "slots")}
	n := time.Duration(p.slots)
	delay := rapid.Custom(func(t *rapid.T) time.Duration {
		switch rapid.IntRange(0, 9).Draw(t, "size") {
		case 0:
			return -rapid.SampledFrom([]time.Duration{1, tmTick, math.MaxInt64}).Draw(t, "negative")
		case 1:
			return 0
		case 2, 3, 4:
			return time.Duration(rapid.Int64Range(1, 4).Draw(t, "ticks")) * tmTick
		case 5, 6, 7:
			return time.Duration(rapid.Int64Range(1, int64(3*n*8)).Draw(t, "units")) * tmUnit
		case 8:
			return time.Duration(rapid.Int64Range(1, int64(3*n*n*8)).Draw(t, "units")) * tmUnit
		default:
			return time.Duration(rapid.Int64Range(1, int64(40*time.Millisecond)).Draw(t, "ns"))
		}
	})
	units := func(most, unit time.Duration) *rapid.Generator[time.Duration] {
		return rapid.Map(rapid.Int64Range(0, int64(most)), func(n int64) time.Duration { return time.Duration(n) * unit })
	}
	pass := rapid.OneOf(
		rapid.Just(time.Duration(0)),
		units(2*n, tmTick),
		units(3*n*8, tmUnit),
		units(20*time.Millisecond, 1),
		units(n*n*8, tmUnit),
	)
	script := rapid.Custom(func(t *rapid.T) (s tmScript) {
		for range rapid.IntRange(0, 3).Draw(t, "acts") {
			s.acts = append(s.acts, tmAct{
				kind:   tmActKind(rapid.IntRange(0, int(tmDoKinds)-1).Draw(t, "act")),
				target: rapid.IntRange(-1, 7).Draw(t, "target"),
				d:      delay.Draw(t, "d"),
			})
		}
		s.ending = max(0, rapid.IntRange(-6, 2).Draw(t, "ending"))
		return s
	})
	for range rapid.IntRange(1, 40).Draw(t, "steps") {
		s := tmStep{
			advance: pass.Draw(t, "advance"),
			op:      [...]tmOp{tmStart, tmStart, tmStart, tmStop, tmStop, tmReset, tmReset, tmReset, tmReset, tmReceive, tmReceive, tmWaitFor, tmNothing}[rapid.IntRange(0, 12).Draw(t, "op")],
			target:  rapid.IntRange(0, 11).Draw(t, "target"),
			d:       delay.Draw(t, "d"),
		}
		if s.op == tmStart {
			s.kind = tmKind(rapid.IntRange(0, int(tmKinds)-1).Draw(t, "kind"))
			s.times = rapid.IntRange(0, 4).Draw(t, "times")
			s.scripts = rapid.SliceOfN(script, 0, 3).Draw(t, "scripts")
		}
		p.steps = append(p.steps, s)
	}
	return p
}

// A tmTimer is a timer with what the model knows of it. Times are since the
// wheel was made.
type tmTimer struct {
	id      int
	kind    tmKind
	timer   *Timer
	scripts []tmScript
	calls   int

	pending bool
	lo, hi  time.Duration // when it fires, if it is pending

	planned   time.Duration // of a timer that repeats: what the next, or this, call is planned for
	interval  time.Duration
	times     int // forever: -1
	left      int
	calling   bool
	running   bool // during a call: another follows
	restarted bool

	buffered bool // of a channel
	waited   bool // somebody is blocked on the channel

	// in flight: claimed at a time, the callback has not said so yet
	owed, maybe     int
	owedAt, maybeAt time.Duration
	again           time.Duration // until when there may be one more call: the last may have been in flight; 0: not
}

// last reports whether a call that begins now is the last.
func (h *tmTimer) last() bool { return !h.kind.repeats() || h.left == 1 }

type tmModel struct {
	timers *Timers
	start  time.Time

	mu   sync.Mutex
	all  []*tmTimer
	err  error
	over time.Duration // after that nothing may fire, if it is positive

	failed uint64 // calls
}

func (m *tmModel) now() time.Duration { return time.Since(m.start) }

// fail notes the first error.
func (m *tmModel) fail(format string, args ...any) {
	if m.err == nil {
		m.err = fmt.Errorf("at %v: "+format, append([]any{m.now()}, args...)...)
	}
}

// ceilTick returns the first tick at or after d.
func ceilTick(d time.Duration) time.Duration { return (d + tmTick - 1) / tmTick * tmTick }

// window sets when a timer with a deadline fires.
func (m *tmModel) window(h *tmTimer, deadline time.Duration) {
	now := m.now()
	h.pending = true
	h.planned = deadline
	switch {
	case deadline > now:
		h.lo = ceilTick(deadline)
		h.hi = h.lo
	case deadline == now:
		h.lo, h.hi = ceilTick(now), now/tmTick*tmTick+tmTick
	default:
		h.lo, h.hi = now, now/tmTick*tmTick+tmTick
	}
}

// due reports whether it is open if the timer has fired.
func (m *tmModel) due(h *tmTimer) bool { return h.pending && h.lo <= m.now() }

// tmEnd is when the schedule of a tmScheduler ends.
const tmEnd = 100 * time.Second

// A tmScheduler says whole multiples of its period since the start, and nothing
// after tmEnd.
type tmScheduler struct {
	m      *tmModel
	period time.Duration
}

func (s tmScheduler) next(after time.Duration) (time.Duration, bool) {
	next := (after/s.period + 1) * s.period
	return next, next <= tmEnd
}

func (s tmScheduler) Next(after time.Time) time.Time {
	next, ok := s.next(after.Sub(s.m.start))
	if !ok {
		return time.Time{}
	}
	return s.m.start.Add(next)
}

// next is when the call after the planned one is planned for.
func (m *tmModel) next(h *tmTimer) (time.Duration, bool) {
	over := m.now() / tmTick * tmTick // what is planned up to the last tick is missed
	if h.kind == tmSchedule {
		s := tmScheduler{m, h.interval}
		if next, ok := s.next(h.planned); !ok || next > over {
			return next, ok
		}
		return s.next(m.now())
	}
	return h.planned + (max(over-h.planned, 0)/h.interval+1)*h.interval, true
}

// add starts a timer, in the wheel and in the model. mu must be held.
func (m *tmModel) add(s tmStep) {
	h := &tmTimer{id: len(m.all), kind: s.kind, scripts: s.scripts, times: -1}
	m.all = append(m.all, h)
	f := func() { m.called(h) }
	h.interval = max(s.d, 1) // of those that repeat
	if s.kind == tmEvery || s.kind == tmSchedule {
		// Not so short that there is a call for each of many ticks.
		h.interval = max(h.interval, tmTick/2)
	}
	switch s.kind {
	case tmAfterFunc:
		h.timer = m.timers.AfterFunc(s.d, f)
	case tmAt:
		when := time.Now().Add(s.d)
		if s.d == 0 {
			when = when.Round(0) // without the monotonic clock
		}
		h.timer = m.timers.At(when, f)
	case tmNewTimer:
		h.timer = m.timers.NewTimer(s.d)
	case tmEvery:
		h.timer = m.timers.Every(h.interval, f)
	case tmRepeat:
		h.times = s.times
		h.timer = m.timers.Repeat(s.times, h.interval, f)
	case tmSchedule:
		h.timer = m.timers.Schedule(tmScheduler{m, h.interval}, f)
	}
	if (h.timer.C != nil) != (s.kind == tmNewTimer) {
		m.fail("timer %d of kind %d has C %v", h.id, h.kind, h.timer.C)
	}
	h.left = h.times
	if !h.kind.repeats() {
		m.window(h, m.now()+max(s.d, 0))
		return
	}
	h.planned = m.now()
	if next, ok := m.next(h); ok && h.times != 0 {
		m.window(h, next)
	}
}

// expect checks what Stop or Reset returned, and settles what became of a timer
// that was just due.
func (m *tmModel) expect(call string, h *tmTimer, got bool) {
	want := h.pending || h.running
	switch {
	case h.kind == tmNewTimer: // pending, or fired and not received: true in either case
		want = h.pending || h.buffered
	case m.due(h) && h.last():
		if !got { // it has been claimed
			h.owed++
			h.owedAt = m.now()
		}
		want = got
	case m.due(h):
		h.maybe, h.maybeAt = 1, m.now()
	}
	if got != want {
		m.fail("%s of timer %d: got %v, want %v: %+v", call, h.id, got, want, *h)
	}
}

func (m *tmModel) stop(h *tmTimer) {
	m.expect("Stop", h, h.timer.Stop())
	h.pending, h.running, h.buffered = false, false, false
}

func (m *tmModel) reset(h *tmTimer, d time.Duration) {
	if h.kind == tmEvery || h.kind == tmRepeat {
		d = max(d, tmTick/2) // the interval from now on
		h.interval = d
	}
	got := h.timer.Reset(d)
	if h.kind == tmRepeat && h.times == 0 {
		if got {
			m.fail("Reset of timer %d, which repeats 0 times: got true", h.id)
		}
		return
	}
	m.expect("Reset", h, got)
	h.buffered = false
	deadline := m.now() + max(d, 0)
	if h.kind.repeats() {
		h.left = h.times
		h.restarted = true
		if h.calling {
			h.running, h.pending, h.planned = true, false, deadline
			return
		}
	}
	m.window(h, deadline)
}

// receive receives if there is something.
func (m *tmModel) receive(h *tmTimer) {
	if h.kind != tmNewTimer {
		return
	}
	received := tmReceived(h.timer.C)
	if received.IsZero() {
		if h.buffered {
			m.fail("received nothing from timer %d: %+v", h.id, *h)
		}
		return
	}
	if m.due(h) { // open, and this is the answer
		h.pending, h.buffered = false, true
	}
	if at := received.Sub(m.start); !h.buffered || at < h.lo || at > h.hi {
		m.fail("received %v from timer %d: %+v", at, h.id, *h)
	}
	h.buffered = false
}

// waitFor receives and blocks until the timer has fired.
func (m *tmModel) waitFor(h *tmTimer) {
	m.mu.Lock()
	h.waited = h.kind == tmNewTimer && (h.pending || h.buffered)
	wait := h.waited
	m.mu.Unlock()
	if !wait {
		return
	}
	before := m.now()
	at := (<-h.timer.C).Sub(m.start)
	m.mu.Lock()
	defer m.mu.Unlock()
	if at < h.lo || at > h.hi || m.now() != max(at, before) {
		m.fail("received %v at %v from timer %d, want %v to %v", at, m.now(), h.id, h.lo, h.hi)
	}
	h.pending, h.buffered, h.waited = false, false, false
}

// begin notes that a callback begins.
func (m *tmModel) begin(h *tmTimer) {
	now := m.now()
	if h.calling && h.kind.repeats() {
		m.fail("two calls of timer %d at once", h.id)
	}
	if m.over > 0 && now > m.over {
		m.fail("timer %d fired after Stop", h.id)
	}
	inFlight := true
	switch {
	case h.owed > 0 && h.owedAt == now:
		h.owed--
	case h.pending && h.lo <= now && now <= h.hi:
		inFlight = false
		if h.maybe > 0 && h.maybeAt == now { // or it is the one in flight, and that of the new deadline follows
			h.maybe, h.again = 0, h.hi
		}
	case h.maybe > 0 && h.maybeAt == now:
		h.maybe--
	case now <= h.again:
		h.again = 0
	default:
		m.fail("timer %d fired: %+v", h.id, *h)
	}
	h.calling = true
	switch {
	case !h.kind.repeats():
		if !inFlight {
			h.pending = false
		}
	case inFlight: // and then stopped or reset
		h.running, h.restarted = h.pending, h.pending
		h.pending = false
	default:
		h.pending, h.restarted = false, false
		if h.left > 0 {
			h.left--
		}
		h.running = h.left != 0
	}
}

// end notes that a callback ends.
func (m *tmModel) end(h *tmTimer) {
	h.calling = false
	if h.again > 0 {
		h.again = m.now()/tmTick*tmTick + tmTick
	}
	if !h.running {
		return
	}
	h.running = false
	deadline, ok := h.planned, true
	if !h.restarted {
		deadline, ok = m.next(h)
	}
	if ok {
		m.window(h, deadline)
	}
}

// called is the callback of all timers.
func (m *tmModel) called(h *tmTimer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.begin(h)
	var s tmScript
	if h.calls < len(h.scripts) {
		s = h.scripts[h.calls]
	}
	h.calls++
	for _, a := range s.acts {
		if m.over > 0 {
			break // nothing is left to act on
		}
		on := h
		if a.target >= 0 {
			on = m.all[a.target%len(m.all)]
		}
		switch a.kind {
		case tmDoStop:
			if !on.waited { // it would wait forever
				m.stop(on)
			}
		case tmDoReset:
			if !on.waited || m.now() < on.lo {
				m.reset(on, a.d)
			}
		case tmDoSpawn:
			m.add(tmStep{kind: tmAfterFunc, d: a.d})
		case tmDoBlock:
			m.mu.Unlock()
			time.Sleep(min(max(a.d, 0), 3*tmTick*16))
			m.mu.Lock()
		}
	}
	m.end(h)
	if s.ending > 0 {
		m.failed++
	}
	switch s.ending {
	case 1:
		panic("oops")
	case 2:
		runtime.Goexit()
	}
}

// settled checks the model and the wheel when nothing moves.
func (m *tmModel) settled() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	pending, open := 0, 0
	for _, h := range m.all {
		if h.pending && h.hi <= now {
			if h.kind != tmNewTimer {
				m.fail("timer %d did not fire: %+v", h.id, *h)
			}
			h.pending, h.buffered = false, true
		}
		if h.owed > 0 {
			m.fail("timer %d: Stop or Reset returned false, but it did not fire: %+v", h.id, *h)
		}
		if h.pending {
			pending++
		}
		if m.due(h) && h.kind == tmNewTimer {
			open++
		}
	}
	if got := m.timers.Len(); got > pending || got < pending-open {
		m.fail("Len: got %d, want %d", got, pending)
	}
	if got := m.timers.Stats().Panics; got != m.failed {
		m.fail("Stats: %d panics, want %d", got, m.failed)
	}
	return errors.Join(m.err, checkTimers(m.timers))
}

// checkTimers checks the invariants of timers that nothing moves in.
func checkTimers(t *Timers) error {
	n, err := checkShards(&t.wheel, t.shards)
	if s := t.Stats(); err == nil && (n != t.Len() || int(s.Started-s.Removed-s.Fired) != n) {
		return fmt.Errorf("started %d, removed %d, fired %d, Len is %d, but %d wait", s.Started, s.Removed, s.Fired, t.Len(), n)
	}
	return err
}

// check verifies the invariants of a shard.
func (s *timerShard) check() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.shard.check(); err != nil {
		return err
	}
	for i, t := range s.entries {
		due, ok := s.ring.Due(uint32(i))
		if !ok {
			continue
		}
		if t == nil || t.task != uint32(i) || t.shard != s {
			return fmt.Errorf("number %d has another's timer: %+v", i, t)
		}
		state := t.state.Load()
		_, waits := s.ring.Visit(uint32(i))
		held := !waits
		if held != (state == claimed) || !held && (state <= 0 || due > max(s.clock.dueTick(state), s.ring.Now()+1)) {
			return fmt.Errorf("number %d is due at tick %d, held %v, with state %d", i, due, held, state)
		}
	}
	return nil
}

// follow plays a plan to timers and to the model.
func (p tmPlan) follow(t *testing.T) (err error) {
	timers, err := NewTimers(tmTick, p.slots, WithOnPanic(func(any, []byte) {}), WithWorkers(1000))
	if err != nil {
		return err
	}
	m := &tmModel{timers: timers, start: time.Now()}
	defer func() { // the bubble must end
		m.mu.Lock()
		timers.Stop()
		m.over = m.now()
		for _, h := range m.all {
			if h.kind != tmNewTimer && (h.timer.Stop() || h.timer.Reset(tmTick)) {
				m.fail("Stop or Reset of timer %d after Stop: got true", h.id)
			}
		}
		m.mu.Unlock()
		if e := timers.Shutdown(t.Context()); e != nil && err == nil {
			err = fmt.Errorf("Shutdown: %w", e)
		}
		time.Sleep(time.Hour)
		if err == nil {
			err = m.err
		}
		if n := timers.Len(); n != 0 && err == nil {
			err = fmt.Errorf("Len after Stop: %d", n)
		}
	}()
	for i, s := range p.steps {
		time.Sleep(s.advance)
		synctest.Wait()
		if err := m.settled(); err != nil {
			return fmt.Errorf("before step %d: %w", i, err)
		}
		m.mu.Lock()
		if s.op == tmStart {
			m.add(s)
		}
		var h *tmTimer
		if len(m.all) > 0 {
			h = m.all[s.target%len(m.all)]
		}
		if h != nil {
			switch s.op {
			case tmStop:
				m.stop(h)
			case tmReset:
				m.reset(h, s.d)
			case tmReceive:
				m.receive(h)
			}
		}
		m.mu.Unlock()
		if s.op == tmWaitFor && h != nil {
			m.waitFor(h)
		}
		synctest.Wait()
		if err := m.settled(); err != nil {
			return fmt.Errorf("after step %d: %w", i, err)
		}
	}
	time.Sleep(3 * time.Duration(p.slots*p.slots) * tmTick)
	synctest.Wait()
	return m.settled()
}

func timersModel(t *testing.T) func(*rapid.T) {
	return func(rt *rapid.T) { inBubble(t, rt, drawTimersPlan(rt).follow) }
}

// inBubble fails a test of rapid if follow, which it calls in a bubble, returns an error.
func inBubble(t *testing.T, rt *rapid.T, follow func(*testing.T) error) {
	var err error
	synctest.Test(t, func(t *testing.T) { err = follow(t) })
	if err != nil {
		rt.Fatal(err)
	}
}

// TestTimersModel compares timers with the model: what Stop and Reset return, and
// when which callback begins.
func TestTimersModel(t *testing.T) { rapid.Check(t, timersModel(t)) }

// FuzzTimers is TestTimersModel with operations chosen by the fuzzer.
func FuzzTimers(f *testing.F) {
	f.Fuzz(func(t *testing.T, input []byte) { rapid.MakeFuzz(timersModel(t))(t, input) })
}

// tmReceived receives, if there is something.
func tmReceived(c <-chan time.Time) (at time.Time) {
	select {
	case at = <-c:
	default:
	}
	return at
}
