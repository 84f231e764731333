package neartest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
)

// Told is what a [Recorder] was told.
type Told struct {
	Keys    []string // by Changed, in order
	Alls    int      // so many times ChangedAll
	Losts   []error
	AsOf    time.Time // of the last Current
	Serving bool      // a cache would serve memory: since a ChangedAll and then a Current, and no Lost since
}

// Count returns how often a key was told.
func (t Told) Count(key string) (n int) {
	for _, k := range t.Keys {
		if k == key {
			n++
		}
	}
	return n
}

// A Recorder is a near.Watcher that keeps what it is told. It fails its test if the source calls it from two goroutines
// at once, or says Current before ChangedAll, after Lost, or of the future.
type Recorder struct {
	t      testing.TB
	maxLag time.Duration
	news   chan struct{}
	inside atomic.Int32

	mu   sync.Mutex
	open bool // ChangedAll was told since the last Lost
	told Told
}

// NewRecorder returns a Recorder whose near.MaxLag is maxLag, for [Watch].
func NewRecorder(t testing.TB, maxLag time.Duration) *Recorder {
	return &Recorder{t: t, maxLag: maxLag, news: make(chan struct{}, 1)}
}

// Record has a new Recorder watch until the test ends, and waits for its first Current.
func Record(t testing.TB, source near.Source, maxLag time.Duration) *Recorder {
	t.Helper()
	r := NewRecorder(t, maxLag)
	t.Cleanup(Watch(source, r))
	r.Await(t, "the first Current", func(told Told) bool { return told.Serving })
	return r
}

// Watch has w watch a source until stop is called, which waits until Watch of the source has returned.
func Watch(source near.Source, w near.Watcher) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { source.Watch(ctx, w); close(done) }()
	return func() { cancel(); <-done }
}

// MaxLag is for near.MaxLag.
func (r *Recorder) MaxLag() time.Duration { return r.maxLag }

// Changed is for the source, as are ChangedAll, Current and Lost.
func (r *Recorder) Changed(keys ...string) {
	r.hear(func() { r.told.Keys = append(r.told.Keys, keys...) })
}

// ChangedAll is told that any key may have changed.
func (r *Recorder) ChangedAll() { r.hear(func() { r.told.Alls++; r.open = true }) }

// Lost is told that changes may go untold.
func (r *Recorder) Lost(err error) {
	r.hear(func() { r.told.Losts, r.told.Serving, r.open = append(r.told.Losts, err), false, false })
}

// Current is told that every change before asOf was told.
func (r *Recorder) Current(asOf time.Time) {
	r.hear(func() {
		if now := time.Now(); !r.open || asOf.After(now) {
			r.t.Errorf("Current as of %s at %s, want one of the past, and after ChangedAll (%t)", clock(asOf), clock(now), r.open)
		}
		if asOf.After(r.told.AsOf) {
			r.told.AsOf = asOf
		}
		r.told.Serving = true
	})
}

func (r *Recorder) hear(f func()) {
	if r.inside.Add(1) > 1 {
		r.t.Error("the source calls its watcher in two goroutines at once")
	}
	defer r.inside.Add(-1)
	r.mu.Lock()
	f()
	r.mu.Unlock()
	select {
	case r.news <- struct{}{}:
	default:
	}
}

// Told returns what was told so far.
func (r *Recorder) Told() Told {
	r.mu.Lock()
	defer r.mu.Unlock()
	told := r.told
	told.Keys = slices.Clone(told.Keys)
	return told
}

// Await waits until is holds of what was told, and ends the test if it does not after a minute. One goroutine at a time
// may wait. is must not keep Keys, nor call the Recorder.
func (r *Recorder) Await(t testing.TB, what string, is func(Told) bool) {
	t.Helper()
	deadline := time.After(patience)
	for {
		r.mu.Lock()
		ok := is(r.told)
		r.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-r.news:
		case <-deadline:
			told := r.Told()
			t.Fatalf("waiting for %s: told %d keys, %d times all, as of %v ago, lost %v", what, len(told.Keys),
				told.Alls, time.Since(told.AsOf), told.Losts)
		}
	}
}

// AwaitCurrent waits until all before a moment is vouched for.
func (r *Recorder) AwaitCurrent(t testing.TB, moment time.Time) {
	t.Helper()
	r.Await(t, "a Current of what was done", func(told Told) bool { return told.AsOf.After(moment) })
}

// AwaitLost waits until it was told of an error with a text.
func (r *Recorder) AwaitLost(t testing.TB, text string) {
	t.Helper()
	r.Await(t, "a Lost that says "+text, func(told Told) bool {
		return slices.ContainsFunc(told.Losts, func(err error) bool { return strings.Contains(err.Error(), text) })
	})
}

// AwaitAgain calls f, and waits until the watcher was told to forget everything since, and was served again.
func (r *Recorder) AwaitAgain(t testing.TB, what string, f func()) {
	t.Helper()
	alls := r.Told().Alls
	f()
	r.Await(t, what, func(told Told) bool { return told.Alls > alls && told.Serving })
}

// Tells changes something and waits until is holds of what was told. If the connection is lost meanwhile, as it rightly
// is when the machine stalls for MaxLag, the source says that everything may have changed, and not what: then Tells
// changes that again.
func (r *Recorder) Tells(t testing.TB, what string, change func(), is func(Told) bool) {
	t.Helper()
	for end := time.Now().Add(patience); ; {
		losts, done := 0, false
		r.Await(t, what+": service", func(told Told) bool { losts = len(told.Losts); return told.Serving })
		change()
		r.Await(t, what, func(told Told) bool { done = is(told); return done || len(told.Losts) > losts })
		if done {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: the connection was lost each time: %v", what, r.Told().Losts)
		}
	}
}

// TellsKey is Tells for the change of a key.
func (r *Recorder) TellsKey(t testing.TB, key string, change func()) {
	t.Helper()
	n := r.Told().Count(key)
	r.Tells(t, fmt.Sprintf("%.40q", key), change, func(told Told) bool { return told.Count(key) > n })
}
