package timingwheel

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/timingwheel/ring"
)

// TestNewRefusesNoFunction: FuzzWheelOptions has what else New refuses, and what it accepts.
func TestNewRefusesNoFunction(t *testing.T) {
	w, err := New[int, int](time.Second, 60, nil)
	if w != nil || !errors.Is(err, ErrArgument) || !strings.Contains(fmt.Sprint(err), "function") {
		t.Errorf("%v, error %v", w, err)
	}
}

// TestKeyedRefusesKeys checks that every method refuses a key that could not be found
// again, and changes nothing.
func TestKeyedRefusesKeys(t *testing.T) {
	refuseKeys(t, 1.5, map[string]float64{"NaN": math.NaN()})
	refuseKeys(t, [2]any{1, 2}, map[string][2]any{"slice": {1, []int{2}}, "NaN": {math.NaN(), nil}})
	refuseKeys[any](t, "a", map[string]any{"slice": []int{1}, "map": map[int]int{}, "func": func() {}, "NaN": math.NaN()})
}

func refuseKeys[K comparable](t *testing.T, good K, bad map[string]K) {
	t.Helper()
	w := newKeyed(t, time.Hour, 4, func(K, int) {}, WithLimit(2))
	mustSetKeyed(t, w, good, 1, time.Hour)
	before := w.Stats()
	for name, key := range bad {
		name = fmt.Sprintf("%T, %s", key, name)
		wantKeyedErr(t, name+": SetTimer", w.SetTimer(key, 2, time.Hour), ErrArgument)
		wantKeyedErr(t, name+": SetTimerAt", w.SetTimerAt(key, 2, time.Now()), ErrArgument)
		moved, err := w.MoveTimer(key, time.Hour)
		wantKeyedErr(t, name+": MoveTimer", err, ErrArgument)
		removed, err := w.RemoveTimer(key)
		wantKeyedErr(t, name+": RemoveTimer", err, ErrArgument)
		if moved || removed || w.Len() != 1 || w.Stats() != before {
			t.Errorf("%s: moved %v, removed %v, %d timers", name, moved, removed, w.Len())
		}
	}
	wantKeyed(t, "RemoveTimer of a good key", true)(w.RemoveTimer(good))
	must(t, checkKeyed(w))
}

// TestKeyedHugeDelays checks that the longest delays neither overflow nor fire.
func TestKeyedHugeDelays(t *testing.T) {
	for _, c := range []struct {
		interval time.Duration
		slots    int
	}{{time.Minute, 1}, {10 * time.Millisecond, 512}, {time.Millisecond, ring.MaxSlots}, {1000 * time.Hour, 3}} {
		synctest.Test(t, func(t *testing.T) {
			var called keyedCalls[int, int]
			w := newKeyed(t, c.interval, c.slots, called.add)
			time.Sleep(c.interval / 3)
			mustSetKeyed(t, w, 1, 0, math.MaxInt64)
			mustSetKeyed(t, w, 2, 0, math.MaxInt64-time.Hour)
			must(t, w.SetTimerAt(3, 0, time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)))
			mustSetKeyed(t, w, 4, 0, time.Hour)
			wantKeyed(t, "MoveTimer", true)(w.MoveTimer(4, math.MaxInt64))
			for p := range w.All() {
				if p.Due.Before(time.Now().AddDate(250, 0, 0)) {
					t.Errorf("%+v: key %d is due at %v", c, p.Key, p.Due)
				}
			}
			must(t, checkKeyed(w))
			for range 10 {
				time.Sleep(24 * time.Hour)
				mustSetKeyed(t, w, 5, 0, time.Hour) // and others are not disturbed
				time.Sleep(time.Hour + c.interval)
			}
			wantKeyed(t, "MoveTimer", true)(w.MoveTimer(1, 1))
			time.Sleep(c.interval)
			synctest.Wait()
			if n := called.len(); n != 11 || w.Len() != 3 {
				t.Errorf("%+v: %d called, %d left, want 11 and 3", c, n, w.Len())
			}
		})
	}
}
