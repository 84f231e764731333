package runner

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"
)

// panicOrExit ends the calling goroutine's callback in one of the two bad ways.
func panicOrExit(panics bool) {
	if panics {
		panic("oops")
	}
	runtime.Goexit()
}

type ending int

const (
	returns ending = iota
	panics
	exits
)

// A job is an item of the model test: what its callback does.
type job struct {
	id     int
	order  uint64
	pushes []*job
	blocks bool // until it is released
	ending ending
	gate   chan struct{}
}

func (j *job) String() string {
	return fmt.Sprintf("{%d key %d blocks %v ending %d pushes %v}", j.id, j.order, j.blocks, j.ending, j.pushes)
}

// A step of a plan pushes a job, or, if there is none, releases one of the
// running jobs, or lets a producer wait.
type step struct {
	push    *job
	release int
	wait    bool
}

func drawJob(t *rapid.T, nextID *int, depth int) *job {
	j := &job{
		id:     *nextID,
		order:  rapid.Uint64Range(0, 3).Draw(t, "key"),
		blocks: rapid.Bool().Draw(t, "blocks"),
		ending: ending(rapid.IntRange(0, 2).Draw(t, "ending")),
	}
	*nextID++
	if depth > 0 && rapid.IntRange(0, 3).Draw(t, "pushes?") == 0 {
		for range rapid.IntRange(1, 4).Draw(t, "pushes") {
			j.pushes = append(j.pushes, drawJob(t, nextID, depth-1))
		}
	}
	return j
}

func drawPlan(t *rapid.T) (plan []step) {
	id := 0
	for range rapid.IntRange(1, 40).Draw(t, "steps") {
		switch rapid.IntRange(0, 9).Draw(t, "step") {
		case 0:
			plan = append(plan, step{wait: true})
		case 1, 2, 3, 4:
			plan = append(plan, step{release: rapid.IntRange(0, 7).Draw(t, "which")})
		default:
			plan = append(plan, step{push: drawJob(t, &id, 1)})
		}
	}
	return plan
}

// A ledger has what happened, or what should have.
type ledger struct {
	running []*job
	began   map[uint64][]int // ids in the order in which they began, by key
	failed  uint64
}

func newLedger() *ledger { return &ledger{began: make(map[uint64][]int)} }

func (l *ledger) begin(j *job) {
	l.running = append(l.running, j)
	l.began[j.order] = append(l.began[j.order], j.id)
}

func (l *ledger) end(j *job) {
	i := slices.Index(l.running, j)
	l.running = slices.Delete(l.running, i, i+1)
	if j.ending != returns {
		l.failed++
	}
}

func (l *ledger) ids() (ids []int) {
	for _, j := range l.running {
		ids = append(ids, j.id)
	}
	slices.Sort(ids)
	return ids
}

// model is the naive runner: while a worker is free it begins the oldest job
// whose key is not running.
type model struct {
	*ledger
	workers int
	waiting []*job
}

func (m *model) settle() {
	for len(m.running) < m.workers {
		i := slices.IndexFunc(m.waiting, func(j *job) bool {
			return !slices.ContainsFunc(m.running, func(k *job) bool { return k.order == j.order })
		})
		if i < 0 {
			return
		}
		j := m.waiting[i]
		m.waiting = slices.Delete(m.waiting, i, i+1)
		m.begin(j)
		m.waiting = append(m.waiting, j.pushes...)
		if !j.blocks {
			m.end(j)
		}
	}
}

// system is the real runner with its ledger, and the most callbacks that were
// seen at once.
type system struct {
	*Runner[*job]
	mu   sync.Mutex
	seen *ledger
	most int
}

func newSystem(workers, backlog int) *system {
	s := &system{seen: newLedger()}
	s.Runner = New(workers, backlog, s.callback, nil)
	return s
}

func (s *system) push(j *job) {
	j.gate = make(chan struct{})
	s.Push(j.order, j)
}

func (s *system) callback(j *job) {
	s.mu.Lock()
	s.seen.begin(j)
	s.most = max(s.most, len(s.seen.running))
	s.mu.Unlock()
	for _, k := range j.pushes {
		s.push(k)
	}
	if j.blocks {
		<-j.gate
	}
	s.mu.Lock()
	s.seen.end(j)
	s.mu.Unlock()
	if j.ending != returns {
		panicOrExit(j.ending == panics)
	}
}

// check compares a system in which nothing moves with the model.
func (s *system) check(m *model) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if got, want := s.seen.ids(), m.ids(); !slices.Equal(got, want) {
		return fmt.Errorf("running: got %v, want %v", got, want)
	}
	for key := range uint64(4) {
		if got, want := s.seen.began[key], m.began[key]; !slices.Equal(got, want) {
			return fmt.Errorf("key %d began: got %v, want %v", key, got, want)
		}
	}
	if s.most > m.workers {
		return fmt.Errorf("%d callbacks at once, want at most %d", s.most, m.workers)
	}
	if got, want := s.Queued(), len(m.waiting); got != want {
		return fmt.Errorf("Queued: got %d, want %d", got, want)
	}
	if got, want := s.Panics(), m.failed; got != want {
		return fmt.Errorf("Panics: got %d, want %d", got, want)
	}
	return s.checkInvariants()
}

// checkInvariants checks what holds whenever no worker moves.
func (s *system) checkInvariants() error {
	r := s.Runner
	r.mu.Lock()
	defer r.mu.Unlock()
	if got, want := r.workers, len(s.seen.running); got != want {
		return fmt.Errorf("%d workers for %d running callbacks", got, want)
	}
	if got, want := len(r.running), len(s.seen.running); got != want {
		return fmt.Errorf("%d keys for %d running callbacks", got, want)
	}
	if length(&r.fifo) > 0 && r.workers < r.limit {
		return fmt.Errorf("%d items are left behind in fifo, with %d workers", length(&r.fifo), r.workers)
	}
	n := length(&r.fifo)
	for key, call := range r.running {
		if !slices.ContainsFunc(s.seen.running, func(j *job) bool { return j.order == key }) {
			return fmt.Errorf("key %d is held and not running", key)
		}
		if call.chain != nil {
			n += length(call.chain)
		}
	}
	if got := r.Queued(); got != n {
		return fmt.Errorf("Queued = %d, and %d items in fifo and on chains", got, n)
	}
	if got := len(r.unused); got > r.limit {
		return fmt.Errorf("%d unused chains, and at most %d workers", got, r.limit)
	}
	if (r.room != nil) && r.queued.Load() <= r.backlog {
		return fmt.Errorf("a producer waits with %d items queued", r.queued.Load())
	}
	return nil
}

// follow plays the plan to a runner and to the model.
func follow(t *testing.T, plan []step, workers, backlog int) error {
	s := newSystem(workers, backlog)
	m := &model{ledger: newLedger(), workers: workers}
	release := func(j *job) {
		close(j.gate)
		m.end(j)
	}
	defer func() { // the bubble must end even if the test fails
		s.mu.Lock()
		for _, j := range m.running {
			close(j.gate)
		}
		s.mu.Unlock()
	}()

	for i, st := range plan {
		var waiter <-chan struct{}
		switch {
		case st.push != nil:
			s.push(st.push)
			m.waiting = append(m.waiting, st.push)
		case st.wait:
			waiter = started(func() { _ = s.Wait(t.Context()) })
		case len(m.running) > 0:
			release(m.running[st.release%len(m.running)])
		}
		m.settle()
		synctest.Wait()
		if err := s.check(m); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		if waiter != nil {
			if got, want := settled(waiter), len(m.waiting) <= backlog; got != want {
				return fmt.Errorf("step %d: Wait returned is %v with %d items queued", i, got, len(m.waiting))
			}
		}
	}

	drain := started(func() { _ = s.Drain(t.Context()) })
	for len(m.running) > 0 {
		if settled(drain) {
			return fmt.Errorf("Drain returned with %d callbacks running", len(m.running))
		}
		release(m.running[0])
		m.settle()
		synctest.Wait()
		if err := s.check(m); err != nil {
			return fmt.Errorf("at the end: %w", err)
		}
	}
	if !settled(drain) {
		return fmt.Errorf("Drain did not return")
	}
	return nil
}

// TestAgainstModel compares the runner with the naive one after every step:
// which callbacks run, in which order they began, how many wait and failed.
func TestAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) { againstModel(t, rt) })
}

func againstModel(t *testing.T, rt *rapid.T) {
	workers := rapid.IntRange(1, 4).Draw(rt, "workers")
	backlog := rapid.IntRange(0, 5).Draw(rt, "backlog")
	plan := drawPlan(rt)
	var err error
	synctest.Test(t, func(t *testing.T) { err = follow(t, plan, workers, backlog) })
	if err != nil {
		rt.Fatal(err)
	}
}
