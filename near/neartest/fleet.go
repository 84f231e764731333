package neartest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// A Truth has rows with the numbers 0, 1, 2 and so on, each of which has a version. Its methods
// are called concurrently; a row has one writer at a time.
type Truth interface {
	// Read returns the version of a row, as the load of an instance does.
	Read(ctx context.Context, row int) (version int, err error)

	// Write gives a row a version, which is higher than those before. It returns nil when
	// that is acknowledged, so that everybody must read it. After an error it may have been
	// written or not.
	Write(ctx context.Context, row, version int) error
}

// An Instance is the cache of one instance of a service.
type Instance interface {
	Take(ctx context.Context, row int, load func(ctx context.Context) (version int, err error)) (version int, err error)
	Stats() stats.Snapshot
}

// A Fleet is some instances of a service, and those who write what it reads.
type Fleet struct {
	// Patience says how many readers each instance has, and how long each waits for an answer.
	// Some of NewFleet's give up soon, so that memory is read while the truth is silent.
	Patience []time.Duration

	// Pause is how long each writer rests after a row: first 1 ms. Run makes it longer until enough
	// was read from memory.
	Pause time.Duration

	// Certain has every answer be at least as new as its beginning, because a write is
	// acknowledged only when it was revoked. Nothing is excused then.
	Certain bool

	// Marks has writes marked, and read since the mark. All instances must be Marking.
	Marks bool

	truth     Truth
	maxLag    time.Duration
	instances []Instance
	audits    []*Audit // of the instances
	oracle    oracle
	lateness  lateness

	mu      sync.Mutex
	reads   int
	errors  int
	loads   int
	stale   int // reads beyond maxLag
	vouched int // of those, reads of what the source had vouched not to be current
	excused int // reads beyond maxLag while timers were late
	overdue int // readers that got no answer long after their patience had ended
	worst   time.Duration
	failed  error // the last one
	since   int   // reads since a mark
	older   int   // of those, reads of a version before it
}

const (
	rows       = 40
	writers    = 8 // for each, rows/writers rows
	enoughTime = 2 * time.Minute
)

// Rows is how many rows a Truth has.
const Rows = rows

// NewFleet returns a fleet without instances. maxLag is that of its caches.
func NewFleet(truth Truth, maxLag time.Duration) *Fleet {
	return &Fleet{
		Patience: []time.Duration{time.Minute, 20 * time.Millisecond, 20 * time.Millisecond},
		Pause:    time.Millisecond,
		truth:    truth, maxLag: maxLag, oracle: oracle{acked: make([][]version, rows), last: make([]int, rows)},
	}
}

// Join adds an instance, and the source of its cache, or nil if that cannot be audited.
func (f *Fleet) Join(i Instance, source *Audit) {
	f.instances, f.audits = append(f.instances, i), append(f.audits, source)
}

// JoinLocal adds an instance with a near.Local over a source, which is Strict if the fleet is Certain. The key of a row is its number after
// prefix. The Local is closed after the test.
func (f *Fleet) JoinLocal(t testing.TB, prefix string, source near.Source) {
	t.Helper()
	a := NewAudit(source)
	l, err := near.NewLocal(a, near.LocalOptions[int, int]{
		Cache: cache.Options[int, int]{Expire: time.Minute}, Prefix: prefix, MaxLag: f.maxLag, Strict: f.Certain,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		InTime(t, "Close", func() {
			if err := l.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	})
	f.Join(local{l}, a)
}

// A local is an Instance.
type local struct{ *near.Local[int, int] }

func (l local) Take(ctx context.Context, row int, load func(ctx context.Context) (int, error)) (int, error) {
	return l.Local.Take(ctx, row, func(ctx context.Context, _ *cache.Load[int]) (int, error) { return load(ctx) })
}

// Run lets all instances read, and others write, until during returns, for a moment after it to see
// its effects, and until there was enough to tell.
func (f *Fleet) Run(t testing.TB, during func()) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	f.lateness.start(f.maxLag)
	defer func() {
		stop()
		InTime(t, "readers and writers", all.Wait)
		f.lateness.stop()
	}()
	for i := range f.instances {
		for _, patience := range f.Patience {
			all.Go(func() {
				for ctx.Err() == nil {
					f.read(ctx, patience, i, rand.N(rows))
					time.Sleep(100 * time.Microsecond) // other tests run in parallel
				}
			})
		}
	}
	for i := range writers {
		all.Go(func() {
			for ctx.Err() == nil {
				f.write(ctx, rand.N(rows/writers)*writers+i)
				time.Sleep(f.writersPause())
			}
		})
	}
	during()
	time.Sleep(2 * f.maxLag)
	for end := time.Now().Add(enoughTime); !f.saysEnough() && time.Now().Before(end); {
		time.Sleep(f.maxLag)
		f.slowDown()
	}
}

func (f *Fleet) writersPause() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.Pause
}

// slowDown makes the writers slower, up to a write of each row in MaxLag: on a busy machine a row
// is written so often between two reads that memory never has it.
func (f *Fleet) slowDown() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Pause = min(2*f.Pause, f.maxLag*writers/rows)
}

// read gives up after patience.
func (f *Fleet) read(ctx context.Context, patience time.Duration, instance, row int) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	asOf := f.audits[instance].asOf()
	began := time.Now()
	got, err := f.instances[instance].Take(ctx, row, func(ctx context.Context) (int, error) {
		f.mu.Lock()
		f.loads++
		f.mu.Unlock()
		return f.truth.Read(ctx, row)
	})
	end := time.Now()
	stale := time.Duration(0)
	if err == nil {
		stale = f.oracle.staleness(row, got, began)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads++
	if err != nil {
		f.errors++
	}
	if overdue := end.Sub(began) - patience; overdue > f.maxLag && !f.lateness.late(began, end) {
		f.overdue++
	}
	// What the source has vouched for is its own fault, and no timer's.
	vouched := stale > f.limit() && !began.Add(-stale).After(asOf)
	switch {
	case stale > f.limit() && !vouched && !f.Certain && f.lateness.excuses(began, stale):
		f.excused++
		return
	case stale > f.limit():
		f.stale++
		if vouched {
			f.vouched++
		}
	}
	f.worst = max(f.worst, stale)
}

// limit is how old an answer may be.
func (f *Fleet) limit() time.Duration {
	if f.Certain {
		return 0
	}
	return f.maxLag
}

func (f *Fleet) write(ctx context.Context, row int) {
	number := f.oracle.next(row)
	if err := f.truth.Write(ctx, row, number); err != nil {
		f.mu.Lock()
		f.failed = err
		f.mu.Unlock()
		time.Sleep(5 * time.Millisecond)
		return
	}
	f.oracle.acknowledge(row, number)
	f.checkMark(ctx, row, number)
}

// Stale returns how many answers were older than MaxLag, or than their beginning if the fleet is Certain. Those that a late timer of this process
// excuses are not among them.
func (f *Fleet) Stale() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stale
}

// Overdue returns how many readers got no answer until MaxLag after their contexts had ended. Those
// that a late timer of this process excuses are not among them.
func (f *Fleet) Overdue() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.overdue
}

// Loads returns how many loads have begun.
func (f *Fleet) Loads() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.loads
}

// Instances returns the caches.
func (f *Fleet) Instances() []Instance { return f.instances }

// Verdict fails the test if an answer was older than MaxLag, or if too little was read or written
// to tell.
func (f *Fleet) Verdict(t testing.TB) {
	t.Helper()
	t.Log(f)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.excused > 0 {
		t.Logf("NOT JUDGED: %d answers were older than %v while timers of this process were late: near does not promise more then", f.excused, f.maxLag)
	}
	if f.stale > 0 {
		t.Errorf("%d answers were older than %v, the oldest by %v; of %d the source had vouched that they were not current", f.stale, f.limit(), f.worst, f.vouched)
	}
	if f.older > 0 {
		t.Errorf("%d of %d reads since a mark were older than it", f.older, f.since)
	}
	if f.overdue > 0 {
		t.Errorf("%d readers waited for longer than their contexts and %v", f.overdue, f.maxLag)
	}
	if !f.enough() {
		t.Errorf("only %d reads, %d of them from memory, and %d writes; the last that failed: %v", f.reads, f.hits(), f.oracle.written(), f.failed)
	}
}

func (f *Fleet) saysEnough() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.enough()
}

// enough reports whether enough was read, also from memory, and written. It asks for numbers
// and for no ratio: while servers move, a busy machine reads memory seldom. The lock must be held.
func (f *Fleet) enough() bool {
	return f.reads >= 1000 && (!f.Marks || f.since >= 100) && f.oracle.written() >= 100 && f.hits() >= 500
}

func (f *Fleet) hits() (hits int) {
	for _, one := range f.instances {
		hits += int(one.Stats().Hits)
	}
	return hits
}

// String says what happened, for people.
func (f *Fleet) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var lost, all uint64
	for _, one := range f.instances {
		n := one.Stats().Near
		lost += n.Reconnects
		all += n.ForgottenAll
	}
	return fmt.Sprintf("%d reads (%d from memory, %d failed), %d since marks, %d loads, %d writes, connections lost %d times, everything forgotten %d times, the oldest answer %v",
		f.reads, f.hits(), f.errors, f.since, f.loads, f.oracle.written(), lost, all, f.worst.Round(10*time.Microsecond))
}

// InTime fails the test, with the stacks of all goroutines, if f does not end in a minute.
func InTime(t testing.TB, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		stacks := make([]byte, 1<<20)
		t.Errorf("%s: not done after a minute\n%s", what, stacks[:runtime.Stack(stacks, true)])
	}
}
