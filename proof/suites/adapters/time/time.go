// Package time has the names of package time that its tests of timers use. The timers,
// tickers and sleeps are those of package timingwheel, with a tick short enough for tests
// that count milliseconds.
package time

import (
	"context"
	"math"
	"time"

	"github.com/pinwheel-cache/pinwheel/timingwheel"
)

// All that does not concern timers is that of package time.
type (
	Duration = time.Duration
	Time     = time.Time
)

const (
	Nanosecond  = time.Nanosecond
	Microsecond = time.Microsecond
	Millisecond = time.Millisecond
	Second      = time.Second
	Minute      = time.Minute
	Hour        = time.Hour
)

func Now() Time                       { return time.Now() }
func Since(t Time) Duration           { return time.Since(t) }
func Until(t Time) Duration           { return time.Until(t) }
func Unix(sec int64, nsec int64) Time { return time.Unix(sec, nsec) }

// wheel keeps all timers of the tests.
var wheel = func() *timingwheel.Timers {
	t, err := timingwheel.NewTimers(time.Millisecond, 1024)
	if err != nil {
		panic(err)
	}
	return t
}()

type Timer = timingwheel.Timer

func NewTimer(d Duration) *Timer            { return wheel.NewTimer(d) }
func After(d Duration) <-chan Time          { return wheel.After(d) }
func AfterFunc(d Duration, f func()) *Timer { return wheel.AfterFunc(d, f) }

func Sleep(d Duration) {
	if err := wheel.Sleep(context.Background(), d); err != nil {
		panic(err)
	}
}

// A Ticker is a timer that repeats.
type Ticker = timingwheel.Timer

func NewTicker(d Duration) *Ticker { return wheel.NewTicker(d) }

// Tick is of this adapter: a wheel has only tickers that can be stopped.
func Tick(d Duration) <-chan Time {
	if d <= 0 {
		return nil
	}
	return wheel.NewTicker(d).C
}

// AsynctimerChan is the setting of GODEBUG for channels with a buffer, which the wheel does
// not have.
var AsynctimerChan setting

type setting struct{}

func (setting) Value() string { return "" }

// CheckRuntimeTimerPeriodOverflow starts a ticker whose next time would overflow, and waits
// for another timer.
func CheckRuntimeTimerPeriodOverflow() {
	t := wheel.Every(math.MaxInt64, func() {})
	defer t.Stop()
	<-After(25 * Millisecond)
}
