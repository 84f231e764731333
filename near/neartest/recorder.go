package neartest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
)

// A Recorder is a [near.Watcher] that keeps what it is told, for tests of one source. Its lock
// guards its fields.
type Recorder struct {
	sync.Mutex
	Served bool     // since Current, until Lost
	Keys   []string // of Changed
	Alls   int      // how many times all keys have changed
	Losts  []error
	AsOf   time.Time
	Faults []string // what the source must not have done

	maxLag time.Duration
	news   chan struct{}
}

// NewRecorder returns a Recorder that has been told nothing.
func NewRecorder(maxLag time.Duration) *Recorder {
	return &Recorder{maxLag: maxLag, news: make(chan struct{}, 1)}
}

// Record has a Recorder watch a source until the test ends. It returns when the source vouches.
func Record(t testing.TB, source near.Source, maxLag time.Duration) *Recorder {
	t.Helper()
	r := NewRecorder(maxLag)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { source.Watch(ctx, r); close(done) }()
	t.Cleanup(func() {
		stop()
		<-done
		for _, fault := range r.Faults {
			t.Error(fault)
		}
	})
	r.Await(t, "the first Current", func() bool { return r.Served })
	return r
}

// MaxLag is for the source.
func (r *Recorder) MaxLag() time.Duration { return r.maxLag }

// Note calls f with the lock, and has Await look again.
func (r *Recorder) Note(f func()) {
	r.Lock()
	f()
	r.Unlock()
	select {
	case r.news <- struct{}{}:
	default:
	}
}

// Changed keeps keys.
func (r *Recorder) Changed(keys ...string) { r.Note(func() { r.Keys = append(r.Keys, keys...) }) }

// ChangedAll counts.
func (r *Recorder) ChangedAll() { r.Note(func() { r.Alls++ }) }

// Lost keeps err.
func (r *Recorder) Lost(err error) {
	r.Note(func() { r.Losts, r.Served = append(r.Losts, err), false })
}

// Current keeps asOf. It notes a fault if that may not be vouched for.
func (r *Recorder) Current(asOf time.Time) {
	r.Note(func() {
		if r.Alls == 0 {
			r.Faults = append(r.Faults, "Current before ChangedAll")
		}
		if !asOf.After(r.AsOf) || asOf.After(time.Now()) {
			r.Faults = append(r.Faults, "Current goes back, or ahead")
		}
		r.AsOf, r.Served = asOf, true
	})
}

// Await waits until is, which is called with the lock, holds of what was told.
func (r *Recorder) Await(t testing.TB, what string, is func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		r.Lock()
		ok := is()
		r.Unlock()
		if ok {
			return
		}
		select {
		case <-r.news:
		case <-deadline:
			r.Lock()
			defer r.Unlock()
			t.Fatalf("waiting for %s: told %d keys, the last %q, %d times all, as of %v ago, lost %v",
				what, len(r.Keys), r.Keys[max(0, len(r.Keys)-20):], r.Alls, time.Since(r.AsOf), r.Losts)
		}
	}
}

// AwaitKey waits until a key was told.
func (r *Recorder) AwaitKey(t testing.TB, key string) {
	t.Helper()
	r.Await(t, "the key", func() bool { return slices.Contains(r.Keys, key) })
}

// AwaitNow waits until all that has changed before the call was told.
func (r *Recorder) AwaitNow(t testing.TB) {
	t.Helper()
	now := time.Now()
	r.Await(t, "a Current", func() bool { return r.AsOf.After(now) })
}

// AwaitAgain waits until the watcher was told to forget everything, and the source vouches
// again, since f began.
func (r *Recorder) AwaitAgain(t testing.TB, what string, f func()) {
	t.Helper()
	r.Lock()
	alls := r.Alls
	r.Unlock()
	f()
	r.Await(t, what, func() bool { return r.Alls > alls && r.Served })
}
