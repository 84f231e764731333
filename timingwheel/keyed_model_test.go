package timingwheel

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// What holds of a TimingWheel, and which check of TestKeyedModel proves it, after every one
// of random operations: settle looks at the calls of the callback, compare at what the wheel
// says, checkKeyed at what it keeps.
//
//   - At a tick exactly the keys that are due then fire, each once, with the value set last,
//     never early, and at most a tick late if a worker is free: settle. The tick is
//     ceil((now+delay)/interval). After a stall: TestKeyedCatchesUp.
//   - After Remove returned true nothing is called, also if it was due and had to wait for a
//     worker: settle. At the same time: TestKeyedStress.
//   - Move and Remove of an absent key say so and change nothing, and Set works after a key
//     was fired, removed and drained: the steps, compare.
//   - Len is the size of the model, and tombstones do not count; Pending and Overdue are its
//     parts, and Started, Fired and Removed have counted right: compare.
//   - The index has exactly the live timers, each under its number, and every number is live
//     or free: keyedShard.check. After Drain and Stop too: TestKeyedStop.
//   - Drain gives each timer to its function once, and to nobody else, and its function may
//     use the wheel: the steps, settle.
//   - A callback that blocks, panics or exits delays no other beyond the limit, and no tick:
//     settle demands that no timer waits while a worker is free.
//   - The cursor makes no difference: the plan begins anywhere on the circle.
//   - What others read without the lock is published, and the driver is awake in time:
//     checkShards.

// A keyedValue says what the callback does.
type keyedValue struct {
	ID     int
	blocks bool // until it is released
	ending keyedEnding
}

type keyedEnding int

const (
	keyedReturns keyedEnding = iota
	keyedPanics
	keyedExits
)

func (e keyedEnding) end() {
	switch e {
	case keyedPanics:
		panic("oops")
	case keyedExits:
		runtime.Goexit()
	}
}

// A keyedStep is one operation.
type keyedStep struct {
	op    string
	key   int
	value keyedValue
	d     time.Duration // a delay, a moment from now on, or the time that passes
	which int           // of the callbacks to release
}

// A keyedPlan is a wheel and the operations on it.
type keyedPlan struct {
	interval time.Duration
	slots    int
	shards   uint64 // at most; few, so that keys meet
	workers  int    // 0: more than there are keys
	limit    int    // 0: none
	before   time.Duration
	steps    []keyedStep
}

const (
	keyedKeys = 6
	keyedMany = 40
)

func drawKeyedPlan(t *rapid.T) keyedPlan {
	p := keyedPlan{
		interval: rapid.SampledFrom([]time.Duration{minInterval, 80 * time.Millisecond, time.Second + 1, 3 * time.Minute}).Draw(t, "interval"),
		slots:    rapid.IntRange(1, 12).Draw(t, "slots"),
		shards:   rapid.SampledFrom([]uint64{1, 1, 2, 64}).Draw(t, "shards"),
		workers:  rapid.IntRange(0, 3).Draw(t, "workers"),
		limit:    rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "limit"),
	}
	ticks := rapid.OneOf(rapid.IntRange(0, 4), rapid.IntRange(0, 4*p.slots), rapid.IntRange(0, 3*p.slots*p.slots))
	part := rapid.OneOf(rapid.SampledFrom([]int64{0, 1, int64(p.interval) - 1}), rapid.Int64Range(0, int64(p.interval)-1))
	length := rapid.Custom(func(t *rapid.T) time.Duration {
		return time.Duration(ticks.Draw(t, "ticks"))*p.interval + time.Duration(part.Draw(t, "part"))
	})
	p.before = length.Draw(t, "before")
	ops := rapid.SampledFrom([]string{
		"set", "set", "set", "set", "setAt", "move", "move", "move", "remove", "remove",
		"wait", "wait", "wait", "wait", "release", "release", "drain", "setMany", "removeMany", "refused", "",
	})
	for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
		s := keyedStep{
			op:    ops.Draw(t, "op"),
			key:   rapid.IntRange(0, keyedKeys-1).Draw(t, "key"),
			d:     length.Draw(t, "d"),
			which: rapid.IntRange(0, 2).Draw(t, "which"),
		}
		s.value = keyedValue{
			ID:     i,
			blocks: p.workers > 0 && rapid.Bool().Draw(t, "blocks"),
			ending: keyedEnding(max(0, rapid.IntRange(-3, 2).Draw(t, "ending"))),
		}
		if s.op == "setAt" && rapid.Bool().Draw(t, "past") {
			s.d = -s.d
		}
		p.steps = append(p.steps, s)
	}
	return p
}

// A keyedTimer is a timer of the model.
type keyedTimer struct {
	value keyedValue
	due   int64 // the tick
}

// A keyedModel is a wheel in its simplest form.
type keyedModel struct {
	keyedPlan
	pending map[int]keyedTimer // by key
	backlog map[int]keyedTimer // due, and not begun
	running []int              // IDs of the values whose callbacks block

	started, removed, fired, failed uint64
}

func (m *keyedModel) len() int { return len(m.pending) + len(m.backlog) }

func (m *keyedModel) get(key int) (keyedTimer, bool) {
	for _, timers := range []map[int]keyedTimer{m.pending, m.backlog} {
		if t, ok := timers[key]; ok {
			return t, true
		}
	}
	return keyedTimer{}, false
}

func (m *keyedModel) drop(key int) {
	delete(m.pending, key)
	delete(m.backlog, key)
}

func (m *keyedModel) set(key int, t keyedTimer) {
	m.drop(key)
	m.pending[key] = t
}

// ceil returns the first tick at or after a time since the start; the start is
// tick 1.
func (m *keyedModel) ceil(at time.Duration) int64 {
	return int64((at+m.interval-1)/m.interval) + 1
}

// of returns the time of a tick since the start.
func (m *keyedModel) of(tick int64) time.Duration { return time.Duration(tick-1) * m.interval }

// settle makes everything due up to now, and compares what was called with what
// should have been.
func (m *keyedModel) settle(now time.Duration, start time.Time, called []keyedCall[int, keyedValue]) error {
	times := []time.Duration{now}
	for _, t := range m.pending {
		if at := m.of(t.due); at < now {
			times = append(times, at)
		}
	}
	slices.Sort(times)
	for _, at := range slices.Compact(times) {
		for key, t := range m.pending {
			if m.of(t.due) <= at {
				delete(m.pending, key)
				m.backlog[key] = t
			}
		}
		for len(called) > 0 && called[0].at.Sub(start) == at {
			if err := m.begin(called[0]); err != nil {
				return fmt.Errorf("at %v: %w", at, err)
			}
			called = called[1:]
		}
		if limit := m.workers; len(m.backlog) > 0 && (limit == 0 || len(m.running) < limit) {
			return fmt.Errorf("at %v: %v wait for a worker, while %d of %d run", at, m.backlog, len(m.running), limit)
		}
	}
	if len(called) > 0 {
		return fmt.Errorf("at %v: unexpected calls %v", now, called)
	}
	return nil
}

// begin is the beginning of a callback.
func (m *keyedModel) begin(c keyedCall[int, keyedValue]) error {
	t, ok := m.backlog[c.key]
	if !ok || t.value != c.value {
		return fmt.Errorf("called for key %d with %v, want %v, %v", c.key, c.value, t.value, ok)
	}
	for key, other := range m.backlog {
		if m.workers == 1 && m.shards == 1 && other.due < t.due {
			return fmt.Errorf("called for key %d, due at tick %d, before %d, due at %d", c.key, t.due, key, other.due)
		}
	}
	delete(m.backlog, c.key)
	m.fired++
	if !t.value.blocks {
		m.end(t.value)
		return nil
	}
	m.running = append(m.running, t.value.ID)
	if len(m.running) > m.workers {
		return fmt.Errorf("%d callbacks run, want at most %d", len(m.running), m.workers)
	}
	return nil
}

func (m *keyedModel) end(v keyedValue) {
	if v.ending != keyedReturns {
		m.failed++
	}
}

// A keyedSystem is a wheel, with what its callbacks have done.
type keyedSystem struct {
	*TimingWheel[int, keyedValue]
	keyedCalls[int, keyedValue]
	start time.Time
	gates sync.Map // of the callbacks that block, by ID of the value
}

func newKeyedSystem(p keyedPlan) (*keyedSystem, error) {
	s := &keyedSystem{start: time.Now()}
	opts := []Option{WithOnPanic(func(any, []byte) {})}
	if p.workers > 0 {
		opts = append(opts, WithWorkers(p.workers))
	}
	if p.limit > 0 {
		opts = append(opts, WithLimit(p.limit))
	}
	w, err := New(p.interval, p.slots, s.callback, opts...)
	if err != nil {
		return nil, err
	}
	w.mask = min(w.mask, p.shards-1)
	w.turn.Store(uint32(p.slots&1)<<31 - 8) // which chooses the next shard, and soon wraps around, also on small machines
	s.TimingWheel = w
	return s, nil
}

func (s *keyedSystem) callback(key int, v keyedValue) {
	gate := make(chan struct{})
	if v.blocks {
		s.gates.Store(v.ID, gate)
	}
	s.add(key, v)
	if v.blocks {
		<-gate
	}
	v.ending.end()
}

func (s *keyedSystem) release(id int) {
	gate, _ := s.gates.LoadAndDelete(id)
	close(gate.(chan struct{}))
}

// compare checks what the wheel says of its timers, and what it keeps.
func (s *keyedSystem) compare(m *keyedModel) error {
	if got, want := s.Len(), m.len(); got != want {
		return fmt.Errorf("Len is %d, want %d", got, want)
	}
	seen := map[int]bool{}
	for p := range s.All() {
		t, ok := m.get(p.Key)
		if due := s.start.Add(m.of(t.due)); !ok || seen[p.Key] || p.Value != t.value || !p.Due.Equal(due) {
			return fmt.Errorf("All yields %v (seen %v), want %v, due %v", p, seen[p.Key], t, due)
		}
		seen[p.Key] = true
	}
	if len(seen) != m.len() {
		return fmt.Errorf("All yields keys %v, want %v and %v", seen, m.pending, m.backlog)
	}
	got := s.Stats()
	if got.Pending != len(m.pending) || got.Overdue != len(m.backlog) || got.Running != len(m.running) {
		return fmt.Errorf("%d pending, %d in the backlog, %d running, want %d, %d, %d",
			got.Pending, got.Overdue, got.Running, len(m.pending), len(m.backlog), len(m.running))
	}
	if got.Started != m.started || got.Fired != m.fired || got.Removed != m.removed || got.Panics != m.failed {
		return fmt.Errorf("%d started, %d fired, %d removed, %d failed, want %d, %d, %d, %d",
			got.Started, got.Fired, got.Removed, got.Panics, m.started, m.fired, m.removed, m.failed)
	}
	if got.Lateness.Count() != m.fired {
		return fmt.Errorf("lateness of %d calls, want %d", got.Lateness.Count(), m.fired)
	}
	return checkKeyed(s.TimingWheel)
}

// A keyedRun is a wheel with its model.
type keyedRun struct {
	keyedModel
	sys *keyedSystem
}

// do does a step to both.
func (r *keyedRun) do(s keyedStep) error {
	switch s.op {
	case "set", "setAt":
		return r.set(s)
	case "move":
		return r.move(s)
	case "remove":
		_, want := r.get(s.key)
		if got, err := r.sys.RemoveTimer(s.key); got != want || err != nil {
			return fmt.Errorf("RemoveTimer: %v, %v, want %v", got, err, want)
		}
		if want {
			r.drop(s.key)
			r.removed++
		}
	case "drain":
		return r.drain(s)
	case "setMany": // and the shards grow
		s.value.blocks = false
		for key := range keyedMany {
			one := keyedStep{op: "set", key: key, value: s.value, d: s.d + time.Duration(key*s.which)*r.interval}
			if err := r.set(one); err != nil {
				return err
			}
		}
	case "removeMany": // and the shards shrink
		for key := range keyedMany {
			if key%3 == s.which {
				continue
			}
			if err := r.do(keyedStep{op: "remove", key: key}); err != nil {
				return err
			}
		}
	case "refused": // nothing must change
		if err := r.sys.SetTimer(s.key, s.value, min(-s.d, 0)); !errors.Is(err, ErrArgument) {
			return fmt.Errorf("SetTimer with a delay that is not positive: %v", err)
		}
		if got, err := r.sys.MoveTimer(s.key, min(-s.d, 0)); got || !errors.Is(err, ErrArgument) {
			return fmt.Errorf("MoveTimer with a delay that is not positive: %v, %v", got, err)
		}
		if err := r.sys.Drain(nil); !errors.Is(err, ErrArgument) {
			return fmt.Errorf("Drain without a function: %v", err)
		}
	case "wait":
		time.Sleep(s.d)
	case "release":
		r.releaseOne(s.which)
	}
	return nil
}

func (r *keyedRun) now() time.Duration { return time.Since(r.sys.start) }

func (r *keyedRun) set(s keyedStep) error {
	now := r.now()
	old, found := r.get(s.key)
	var err error
	if s.op == "set" {
		s.d = max(s.d, 1)
		err = r.sys.SetTimer(s.key, s.value, s.d)
	} else {
		err = r.sys.SetTimerAt(s.key, s.value, time.Now().Add(s.d))
	}
	if want := r.limit > 0 && r.len() == r.limit && !found; want {
		if !errors.Is(err, ErrFull) {
			return fmt.Errorf("full, and SetTimer returns %v", err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("SetTimer: %w, with timer %v, %v", err, old, found)
	}
	if !found {
		r.started++
	}
	t := keyedTimer{s.value, r.ceil(now + max(s.d, 0))}
	if s.d <= 0 && now%r.interval == 0 && !r.isDue(s.key, t.due) {
		t.due++ // on a tick, "now" can be that tick, or the next one if it is over
	}
	r.keyedModel.set(s.key, t)
	return nil
}

// isDue reports whether the timer of a key, which was set just now, is due at a
// tick, or has been called.
func (r *keyedRun) isDue(key int, tick int64) bool {
	for p := range r.sys.All() {
		if p.Key == key {
			return p.Due.Equal(r.sys.start.Add(r.of(tick)))
		}
	}
	return true
}

func (r *keyedRun) move(s keyedStep) error {
	s.d = max(s.d, 1)
	due := r.ceil(r.now() + s.d)
	t, want := r.get(s.key)
	if got, err := r.sys.MoveTimer(s.key, s.d); got != want || err != nil {
		return fmt.Errorf("MoveTimer: %v, %v, want %v", got, err, want)
	}
	if want {
		r.keyedModel.set(s.key, keyedTimer{t.value, due})
	}
	return nil
}

// drain drains, and has the function set some of the timers again.
func (r *keyedRun) drain(s keyedStep) error {
	var given keyedCalls[int, keyedValue]
	var lost atomic.Bool // a timer that Drain has given is still there
	again := func(key int) bool { return key&1<<s.which != 0 }
	due := r.ceil(r.now() + s.d + 1)
	err := r.sys.Drain(func(key int, v keyedValue) {
		given.add(key, v)
		moved, _ := r.sys.MoveTimer(key, 1)
		removed, _ := r.sys.RemoveTimer(key)
		if moved || removed {
			lost.Store(true)
		}
		if again(key) {
			_ = r.sys.SetTimer(key, v, s.d+1)
		}
		v.ending.end()
	})
	if err != nil {
		return err
	}
	if got, want := given.len(), r.len(); got != want || lost.Load() {
		return fmt.Errorf("Drain gave %d timers, want %d; one is still there: %v", got, want, lost.Load())
	}
	r.removed += uint64(r.len())
	for _, c := range given.take() {
		if t, ok := r.get(c.key); !ok || t.value != c.value {
			return fmt.Errorf("Drain gave %v, want %v, %v", c, t, ok)
		}
		r.drop(c.key)
		r.end(c.value)
		if again(c.key) {
			defer r.keyedModel.set(c.key, keyedTimer{c.value, due})
			r.started++
		}
	}
	return nil
}

// releaseOne ends a callback that blocks.
func (r *keyedRun) releaseOne(which int) {
	if len(r.running) == 0 {
		return
	}
	i := which % len(r.running)
	id := r.running[i]
	r.running = slices.Delete(r.running, i, i+1)
	r.sys.release(id)
	r.end(r.steps[id].value)
}

// settle waits until nothing moves and compares.
func (r *keyedRun) settle() error {
	synctest.Wait()
	if err := r.keyedModel.settle(r.now(), r.sys.start, r.sys.take()); err != nil {
		return err
	}
	return r.sys.compare(&r.keyedModel)
}

// follow plays a plan to a wheel and to the model.
func (p keyedPlan) follow(*testing.T) error {
	sys, err := newKeyedSystem(p)
	if err != nil {
		return err
	}
	r := &keyedRun{keyedModel{keyedPlan: p, pending: map[int]keyedTimer{}, backlog: map[int]keyedTimer{}}, sys}
	defer func() { // the bubble must end even if the test fails
		sys.Stop()
		sys.gates.Range(func(id, _ any) bool {
			sys.release(id.(int))
			return true
		})
	}()
	time.Sleep(p.before)
	for i, s := range p.steps {
		err := r.do(s)
		if err == nil {
			err = r.settle()
		}
		if err != nil {
			return fmt.Errorf("step %d, %+v, at %v: %w", i, s, r.now(), err)
		}
	}
	return r.finish()
}

// finish lets every timer fire.
func (r *keyedRun) finish() error {
	for r.len()+len(r.running) > 0 {
		if len(r.running) > 0 {
			r.releaseOne(0)
		} else {
			next := slices.MinFunc(slices.Collect(maps.Values(r.pending)), func(a, b keyedTimer) int { return int(a.due - b.due) })
			time.Sleep(r.of(next.due) - r.now())
		}
		if err := r.settle(); err != nil {
			return fmt.Errorf("at the end: %w", err)
		}
	}
	return nil
}

func keyedModelTest(t *testing.T) func(*rapid.T) {
	return func(rt *rapid.T) { inBubble(t, rt, drawKeyedPlan(rt).follow) }
}

// TestKeyedModel compares a wheel with a map after every step of a random plan.
func TestKeyedModel(t *testing.T) { rapid.Check(t, keyedModelTest(t)) }

// FuzzKeyed is TestKeyedModel with plans made by the fuzzer.
func FuzzKeyed(f *testing.F) {
	f.Fuzz(func(t *testing.T, input []byte) { rapid.MakeFuzz(keyedModelTest(t))(t, input) })
}
