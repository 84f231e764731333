package timingwheel

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/stats"
	"github.com/pinwheel-cache/pinwheel/timingwheel/ring"
)

// The ways to give an option that takes a function, as FuzzWheelOptions counts them.
const (
	notGiven = iota
	givenNil
	given
)

// FuzzWheelOptions makes wheels of both kinds with any arguments. The error names exactly
// the wrong ones; without an error the wheel fires at the right tick.
func FuzzWheelOptions(f *testing.F) {
	f.Add(int64(time.Second), int64(300), true, int64(2), uint8(notGiven), true, int64(1), uint8(given), "wheel", uint16(1000))
	f.Add(int64(1000), int64(0), true, int64(0), uint8(givenNil), true, int64(-1), uint8(givenNil), "", uint16(0))
	f.Add(int64(time.Second), int64(ring.MaxSlots+1), true, int64(math.MaxInt), uint8(notGiven), true, int64(math.MaxInt), uint8(notGiven), "", uint16(1000))
	f.Fuzz(func(t *testing.T, interval, slots int64, workersSet bool, workers int64, pool uint8, limitSet bool, limit int64,
		onPanic uint8, name string, delay uint16) {
		opts := []Option{WithName(name), nil}
		if workersSet {
			opts = append(opts, WithWorkers(int(workers)))
		}
		switch pool % 3 {
		case givenNil:
			opts = append(opts, WithPool(nil))
		case given:
			opts = append(opts, WithPool(func(run func()) error { go run(); return nil }))
		}
		if limitSet {
			opts = append(opts, WithLimit(int(limit)))
		}
		switch onPanic % 3 {
		case givenNil:
			opts = append(opts, WithOnPanic(nil))
		case given:
			opts = append(opts, WithOnPanic(func(any, []byte) { t.Error("a callback panicked") }))
		}
		var wrong []string
		refuse := func(what string, is bool) {
			if is {
				wrong = append(wrong, what)
			}
		}
		refuse("interval is", time.Duration(interval) < minInterval || time.Duration(interval) > maxInterval)
		refuse("slots is", int(slots) < 1)
		refuse("WithWorkers(", workersSet && int(workers) < 1)
		refuse("WithPool(nil)", pool%3 == givenNil)
		refuse("both WithWorkers and WithPool", workersSet && pool%3 != notGiven)
		refuse("WithLimit(", limitSet && int(limit) < 1)
		refuse("WithOnPanic(nil)", onPanic%3 == givenNil)

		firesInTime(t, time.Duration(interval), time.Duration(delay), wrong, func(call func()) (lenStopper, func(time.Duration), error) {
			w, err := New(time.Duration(interval), int(slots), func(int, int) { call() }, opts...)
			return w, func(d time.Duration) { mustSetKeyed(t, w, 1, 1, d) }, err
		})
		firesInTime(t, time.Duration(interval), time.Duration(delay), wrong, func(call func()) (lenStopper, func(time.Duration), error) {
			timers, err := NewTimers(time.Duration(interval), int(slots), opts...)
			return timers, func(d time.Duration) { timers.AfterFunc(d, call) }, err
		})
	})
}

// checkError checks what the error of a constructor says: each line one of the wrong
// arguments, in their order. It reports whether there is none.
func checkError(t *testing.T, err error, wrong []string) (ok bool) {
	t.Helper()
	if err == nil && len(wrong) == 0 {
		return true
	}
	says := func(line, what string) bool {
		return strings.HasPrefix(strings.TrimPrefix(line, "timingwheel: "), what)
	}
	var lines []string
	if err != nil {
		lines = strings.Split(err.Error(), "\n")
	}
	if !errors.Is(err, ErrArgument) || !slices.EqualFunc(lines, wrong, says) {
		t.Fatalf("the error is %v, want %q", err, wrong)
	}
	return false
}

type lenStopper interface {
	Len() int
	Stop()
}

// firesInTime makes a wheel in a bubble. If none of the arguments is wrong, a timer must be called
// once, not early, and less than a tick late.
func firesInTime(t *testing.T, interval, delay time.Duration, wrong []string, start func(call func()) (lenStopper, func(time.Duration), error)) {
	synctest.Test(t, func(t *testing.T) {
		var called *tmTimes
		w, set, err := start(func() { called.note() })
		if !checkError(t, err, wrong) {
			return
		}
		time.Sleep(interval/3 + delay)
		// Up to a hundred ticks, in steps of 1/655 tick: several revolutions of a wheel with few slots.
		delay := 1 + delay*(interval/655)
		called = newTimes()
		set(delay)
		time.Sleep(delay + interval)
		synctest.Wait()
		if all := called.times(); len(all) != 1 || all[0] < delay || all[0] >= delay+interval || w.Len() != 0 {
			t.Errorf("fired after %v, want %v; %d timers are left", all, delay, w.Len())
		}
		w.Stop()
	})
}

// TestSettingsAreShown checks that the statistics show what a wheel was made with, and its slots as they are.
func TestSettingsAreShown(t *testing.T) {
	pool := WithPool(func(func()) error { return nil })
	newKeyed(t, 20*ms, 300, func(int, int) {}, WithName("settings"), WithWorkers(3), WithLimit(5))
	mustTimers(t, time.Second, 86_400, WithName("settings"), pool)
	for _, want := range []string{
		`"name":"settings","settings":{"interval_seconds":0.02,"limit":5,"slots":512,"workers":3}`,
		`"name":"settings-2","settings":{"interval_seconds":1,"limit":0,"slots":8192,"workers":0}`,
	} {
		if got := (stats.Var{}).String(); !strings.Contains(got, want) {
			t.Errorf("%s lacks %s", got, want)
		}
	}
}
