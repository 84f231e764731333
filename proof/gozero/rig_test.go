package gozero

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	theirs "github.com/zeromicro/go-zero/core/collection"

	"github.com/pinwheel-cache/pinwheel/gozero/collection"
	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

// A peer has the methods of both wheels.
type peer interface {
	SetTimer(key, value any, delay time.Duration) error
	MoveTimer(key any, delay time.Duration) error
	RemoveTimer(key any) error
	Drain(fn func(key, value any)) error
	Stop()
}

const (
	ms   = time.Millisecond
	step = time.Minute // the interval of the wheels with a ticker
)

// A hand is a ticker that is moved by hand.
type hand struct {
	c     chan time.Time
	stops atomic.Int32
}

func (h *hand) Chan() <-chan time.Time { return h.c }
func (h *hand) Stop()                  { h.stops.Add(1) }

// A rig is a wheel in a bubble, and what it has called.
type rig struct {
	peer
	hand  *hand
	ticks int
	began time.Time

	mu    sync.Mutex
	fired []string // "key=value@tick"
}

// note is the callback of the wheel.
func (r *rig) note(key, value any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fired = append(r.fired, fmt.Sprintf("%v=%v@%d", key, value, r.ticks))
}

// noteTime is note with the time instead of the tick.
func (r *rig) noteTime(key any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fired = append(r.fired, fmt.Sprintf("%v@%v", key, time.Since(r.began)))
}

// tick moves the hand on and waits until the wheel and its callbacks are idle.
func (r *rig) tick(n int) {
	for range n {
		r.mu.Lock()
		r.ticks++
		r.mu.Unlock()
		r.hand.c <- time.Now()
		synctest.Wait()
	}
}

// calls returns the calls since the last time, sorted.
func (r *rig) calls() []string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	fired := r.fired
	r.fired = nil
	slices.Sort(fired)
	return fired
}

func newRig() *rig { return &rig{hand: &hand{c: make(chan time.Time)}, began: time.Now()} }

// newOurs returns our wheel with a ticker.
func newOurs(t *testing.T, slots int) *rig {
	t.Helper()
	r := newRig()
	tw, err := collection.NewTimingWheelWithTicker(step, slots, r.note, r.hand)
	must(t, err)
	t.Cleanup(tw.Stop)
	r.peer = tw
	return r
}

// newTheirs returns go-zero's.
func newTheirs(t *testing.T, slots int) *rig {
	t.Helper()
	r := newRig()
	tw, err := theirs.NewTimingWheelWithTicker(step, slots, r.note, r.hand)
	must(t, err)
	r.peer = tw
	return r
}

// ourClock and theirClock return wheels driven by the clock, with 300 slots.
func ourClock(t *testing.T, interval time.Duration, execute func(key, value any)) peer {
	t.Helper()
	tw, err := collection.NewTimingWheel(interval, 300, execute)
	must(t, err)
	return tw
}

func theirClock(t *testing.T, interval time.Duration, execute func(key, value any)) peer {
	t.Helper()
	tw, err := theirs.NewTimingWheel(interval, 300, execute)
	must(t, err)
	return tw
}

func inBubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

var must = settle.Must // ends a test with an error that it did not expect

func wantCalls(t *testing.T, whose string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: called %q, want %q", whose, got, want)
	}
}

// wantSame fails a test unless it got what it wants.
func wantSame[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}
