package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// start is the zero of the clock of now.
var start = time.Now()

// now returns the time since start.
func now() time.Duration { return time.Since(start) }

// A config says what to run.
type config struct {
	duration time.Duration // of all phases together; it ends with one
	ops      uint64        // after so many the run ends; 0 means only duration counts
	phase    time.Duration // the length of each
	patience time.Duration // how long to wait for what must happen eventually
	seed     uint64
	out      io.Writer
}

// A soak is one run.
type soak struct {
	config
	phases   []phase // in turn
	failed   *failure
	subjects []subject
	short    shortLived
	watcher  *watcher
	leaks    leaks
	rng      *rand.Rand
	counts   [ops]atomic.Uint64
}

// newSoak returns a run without subjects.
func newSoak(c config) *soak {
	f := newFailure(c.patience)
	s := &soak{config: c, phases: phases, failed: f, rng: rand.New(rand.NewPCG(c.seed, 0))}
	s.short.failed, s.leaks.failed = f, f
	s.watcher = newWatcher(f)
	return s
}

// launch makes the subjects of a full run.
func (s *soak) launch() {
	s.subjects = fleet(s.failed)
}

// run goes through the phases until the time is up, all operations are done, ctx
// ends, or a promise is broken. It returns the violation, or nil.
func (s *soak) run(ctx context.Context) *violation {
	s.leaks.begin()
	began := time.Now()
	for i := 0; ctx.Err() == nil && s.failed.found() == nil && time.Since(began) < s.duration && (s.ops == 0 || s.total() < s.ops); i++ {
		s.play(ctx, i, s.phases[i%len(s.phases)])
	}
	if s.failed.found() == nil {
		s.failed.enter("close")
		s.close()
	}
	s.summary(time.Since(began))
	return s.failed.found()
}

// play runs one phase and then rests.
func (s *soak) play(ctx context.Context, i int, p phase) {
	s.failed.enter(fmt.Sprintf("%d (%s)", i+1, p.name))
	before, began := s.tally(), time.Now()
	ctx, cancel := context.WithTimeout(ctx, s.config.phase)
	defer cancel()
	go func() {
		select {
		case <-s.failed.first:
			cancel()
		case <-ctx.Done():
		}
	}()
	var others sync.WaitGroup
	disturber, maker := s.hand(), s.hand()
	others.Go(func() { s.disturb(ctx, p, disturber) })
	others.Go(func() { s.watcher.watch(ctx) })
	if p.short {
		others.Go(func() { s.short.run(ctx, maker) })
	}
	s.crew(ctx, p)
	others.Wait()
	took := time.Since(began)

	s.rest(i%2 == 1)
	s.line(i, p, took, before)
}

// rest audits all subjects while no worker runs. If empty is set, it also empties all caches
// and measures the memory.
func (s *soak) rest(empty bool) {
	var all sync.WaitGroup
	for _, x := range s.subjects {
		all.Go(func() {
			x.audit()
			if empty {
				x.clear()
				x.audit()
			}
		})
	}
	all.Wait()
	s.short.audit()
	if s.failed.found() == nil {
		s.leaks.check(empty)
	}
}

// crew runs a changing number of workers until ctx ends.
func (s *soak) crew(ctx context.Context, p phase) {
	var all sync.WaitGroup
	var workers []context.CancelFunc
	for ctx.Err() == nil {
		want := 1 + s.rng.IntN(p.workers)
		for len(workers) < want {
			own, stop := context.WithCancel(ctx)
			h := s.hand()
			workers = append(workers, stop)
			all.Go(func() { s.work(own, p, h) })
		}
		for len(workers) > want {
			workers[len(workers)-1]()
			workers = workers[:len(workers)-1]
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(50+s.rng.IntN(400)) * time.Millisecond):
		}
	}
	for _, stop := range workers {
		stop()
	}
	all.Wait()
}

// work does batches of operations until ctx ends.
func (s *soak) work(ctx context.Context, p phase, h *hand) {
	h.together = p.together
	for ctx.Err() == nil {
		s.any(h).batch(h, p.mix, 100)
		s.add(h)
		if at := now(); p.pauses && at/time.Second%2 == 1 {
			time.Sleep(time.Second - at%time.Second)
		}
	}
}

// disturb calls the disturbance of a phase at its intervals.
func (s *soak) disturb(ctx context.Context, p phase, h *hand) {
	for ctx.Err() == nil {
		if p.disturb != nil {
			p.disturb(s, h)
		}
		s.any(h).measure()
		time.Sleep(p.every)
	}
}

// any returns the subject that a hand works on next.
func (s *soak) any(h *hand) subject {
	return s.subjects[shares[h.rng.IntN(len(shares))]%len(s.subjects)]
}

// hand returns a new hand. It must not be called concurrently.
func (s *soak) hand() *hand {
	return &hand{rng: rand.New(rand.NewPCG(s.rng.Uint64(), s.seed))}
}

// add adds the counts of a hand.
func (s *soak) add(h *hand) {
	for o, n := range h.counts {
		if n > 0 {
			s.counts[o].Add(n)
			h.counts[o] = 0
		}
	}
}

func (s *soak) tally() (t [ops]uint64) {
	for o := range t {
		t[o] = s.counts[o].Load()
	}
	return t
}

func (s *soak) total() (sum uint64) {
	for _, n := range s.tally() {
		sum += n
	}
	return sum
}

// close closes everything.
func (s *soak) close() {
	for _, x := range s.subjects {
		x.audit()
		x.close()
	}
	if s.failed.found() == nil {
		s.leaks.check(false)
		s.leaks.trend()
	}
}

// line prints a line about a phase.
func (s *soak) line(i int, p phase, took time.Duration, before [ops]uint64) {
	var kinds strings.Builder
	after, sum := s.tally(), uint64(0)
	for o := range after {
		if n := after[o] - before[o]; n > 0 {
			sum += n
			fmt.Fprintf(&kinds, " %s=%d", opNames[o], n)
		}
	}
	violations := 0
	if s.failed.found() != nil {
		violations = 1
	}
	fmt.Fprintf(s.out, "%4d %-13s %8d ops %8.0f/s  heap %5.1f MB  goroutines %d  violations %d %s\n",
		i+1, p.name, sum, float64(sum)/took.Seconds(), float64(s.leaks.heap)/1e6, s.leaks.goroutines, violations, kinds.String())
}

// summary prints the totals of the run.
func (s *soak) summary(took time.Duration) {
	fmt.Fprintf(s.out, "\n%d operations in %v, seed %d\n", s.total(), took.Round(time.Second), s.seed)
	for o, n := range s.tally() {
		fmt.Fprintf(s.out, "  %-9s %12d\n", opNames[o], n)
	}
	fmt.Fprintf(s.out, "caches made and dropped: %d, closed: %d; wheels: %d\n", s.short.dropped.Load(), s.short.closed.Load(), s.short.wheels.Load())
	fmt.Fprintf(s.out, "answers of stats.Handler checked: %d\n", s.watcher.answers.Load())
	fmt.Fprintf(s.out, "%s\n", s.leaks.String())
	if v := s.failed.found(); v != nil {
		v.print(s.out, s.seed)
		return
	}
	fmt.Fprintln(s.out, "violations: none")
}
