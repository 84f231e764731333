package collection_test

import (
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/gozero/collection"
)

// A hand is a ticker that is moved by hand.
type hand struct {
	c     chan time.Time
	stops atomic.Int32
}

func (h *hand) Chan() <-chan time.Time { return h.c }
func (h *hand) Stop()                  { h.stops.Add(1) }

// tick waits until the wheel and its callbacks have come to rest.
func (h *hand) tick() {
	h.c <- time.Now()
	synctest.Wait()
}

// newTicked returns a wheel with a tick of a minute.
func newTicked(t *testing.T, execute collection.Execute) (*collection.TimingWheel, *hand) {
	t.Helper()
	h := &hand{c: make(chan time.Time)}
	w, err := collection.NewTimingWheelWithTicker(time.Minute, 10, execute, h)
	must(t, err)
	return w, h
}

// TestArguments checks that arguments that end the process in go-zero, or are not checked there,
// are errors.
func TestArguments(t *testing.T) {
	execute := func(any, any) {}
	ticker := &hand{c: make(chan time.Time)}
	for name, err := range map[string]error{
		"no interval":          second(collection.NewTimingWheel(0, 10, execute)),
		"a tick of 10 ns":      second(collection.NewTimingWheel(10, 10, execute)),
		"no slots":             second(collection.NewTimingWheel(time.Minute, 0, execute)),
		"no function":          second(collection.NewTimingWheel(time.Minute, 10, nil)),
		"ticker, no interval":  second(collection.NewTimingWheelWithTicker(0, 10, execute, ticker)),
		"ticker, no slots":     second(collection.NewTimingWheelWithTicker(time.Minute, -1, execute, ticker)),
		"ticker, no function":  second(collection.NewTimingWheelWithTicker(time.Minute, 10, nil, ticker)),
		"a ticker that is nil": second(collection.NewTimingWheelWithTicker(time.Minute, 10, execute, nil)),
		"NewCache(-1 s)":       second(collection.NewCache(-time.Second)),
		"NewCache(60*60)":      second(collection.NewCache(60 * 60)),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestPlainErrors checks that bad keys and arguments are refused, before and after Stop, by the
// plain errors: programs compare them with ==.
func TestPlainErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ticked, _ := newTicked(t, func(any, any) {})
		clocked, err := collection.NewTimingWheel(time.Second, 300, func(any, any) {})
		must(t, err)
		want := func(what string, want error, all ...error) {
			for _, err := range all {
				wantSame(t, what, err, want)
			}
		}
		for _, w := range []*collection.TimingWheel{ticked, clocked} {
			for _, key := range []any{1.5, [1]any{1}, struct{ x any }{"x"}, new([]int)} {
				must(t, w.SetTimer(key, nil, time.Minute))
				must(t, w.RemoveTimer(key))
			}
			for range 2 {
				for _, key := range []any{nil, []int{1}, map[int]int{}, func() {}, [1]any{[]int{1}}, struct{ x any }{[]int{1}},
					math.NaN(), [1]any{math.NaN()}, struct{ x any }{float32(math.NaN())}} {
					want(fmt.Sprintf("%T", key), collection.ErrArgument,
						w.SetTimer(key, 1, time.Minute), w.MoveTimer(key, time.Minute), w.RemoveTimer(key))
				}
				want("wrong arguments", collection.ErrArgument, w.SetTimer("x", 1, 0), w.MoveTimer("x", -time.Minute), w.Drain(nil))
				w.Stop()
			}
			want("after Stop", collection.ErrClosed,
				w.SetTimer("x", 1, time.Minute), w.MoveTimer("x", time.Minute), w.MoveTimer("x", 1), w.RemoveTimer("x"),
				w.Drain(func(any, any) {}))
		}
	})
}

// TestStopByCallbacks calls Stop in callbacks while timers wait, are due and are called.
func TestStopByCallbacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		var w *collection.TimingWheel
		w, h := newTicked(t, func(_, _ any) {
			calls.Add(1)
			time.Sleep(time.Second)
			w.Stop()
		})
		for i := range 100 {
			must(t, w.SetTimer(i, 0, time.Minute))
		}
		must(t, w.SetTimer("late", 0, 2*time.Minute))
		h.tick()
		time.Sleep(time.Hour)
		wantSame(t, "calls, those that had begun", calls.Load(), 64)
		wantSame(t, "times that the ticker was stopped", h.stops.Load(), 1)
	})
}

// TestTickerStoppedByOthers uses go-zero's fake ticker, which closes its channel in Stop and
// panics when Stop is called again.
func TestTickerStoppedByOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := newTicked(t, func(any, any) { t.Error("called") })
		must(t, w.SetTimer("x", 1, time.Minute))
		close(h.c)
		synctest.Wait()
		must(t, w.MoveTimer("x", 2*time.Minute))
		w.Stop()
		wantSame(t, "times that the ticker was stopped by the wheel too", h.stops.Load(), 0)
	})
}

// TestInOrder checks that callbacks run one after another in the order of their ticks, also on a wheel that
// is driven by hand: those here have no lock, and take their time.
func TestInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []int
		execute := func(key, _ any) { order = append(order, key.(int)); time.Sleep(7 * time.Second) }
		h := &hand{c: make(chan time.Time)}
		byClock, err := collection.NewTimingWheel(time.Second, 10, execute, nil, collection.InOrder())
		must(t, err)
		byHand, err := collection.NewTimingWheelWithTicker(time.Second, 10, execute, h, collection.InOrder())
		must(t, err)
		for _, w := range []*collection.TimingWheel{byClock, byHand} {
			for i := range 300 {
				must(t, w.SetTimer(i, nil, time.Duration(1+i*7%300)*time.Second))
			}
			for range 300 {
				if w == byHand {
					h.tick()
				}
			}
			time.Sleep(time.Hour)
			synctest.Wait()
			for i, key := range order {
				if key*7%300 != i {
					t.Fatalf("call %d is of the timer of tick %d", i, 1+key*7%300)
				}
			}
			wantSame(t, "calls", len(order), 300)
			order = nil
			w.Stop()
		}
	})
}
