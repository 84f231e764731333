package studies

import (
	"sync/atomic"
	"time"

	"github.com/zeromicro/go-zero/core/collection"

	"github.com/pinwheel-cache/pinwheel/timingwheel"
)

const timerTick, timerSlots = 10 * time.Millisecond, 1024

// A contender is a library of timers. open makes room for n; libraries with keys call the
// function that it is given, with what set was given.
type contender struct {
	name string
	open func(n int, call func(i int, due time.Duration)) *timers
	own  float64 // bytes that are the user's: of the handle, or of key and value
}

var contenders = []contender{
	{"time", openTime, 8},
	{"pinwheel-handle", openHandle, 8},
	{"pinwheel-keyed", openKeyed, 16},
	{"go-zero", openGoZero, 32}, // with a boxed key, which MoveTimer wants
}

// timers are those of a contender. Goroutines may use them at once, each timer only one of them.
type timers struct {
	set       func(i int, due time.Duration, f func()) // starts timer i; due is a time since epoch
	reset     func(i int, d time.Duration)             // timer i, to d from now
	startStop func(i int, d time.Duration)             // a further timer
	stop      func()
}

var epoch = time.Now()

func until(due time.Duration) time.Duration { return due - time.Since(epoch) }

// fired counts timers of benchmarks in which none may fire.
var fired atomic.Int64

func fire() { fired.Add(1) }

// must returns what a constructor has made.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// byHandle returns timers but for reset: only that is so fast that a call more would count.
func byHandle[H interface{ Stop() bool }](handles []H, after func(time.Duration, func()) H, stop func()) *timers {
	return &timers{
		set:       func(i int, due time.Duration, f func()) { handles[i] = after(until(due), f) },
		startStop: func(_ int, d time.Duration) { after(d, fire).Stop() },
		stop:      stop,
	}
}

func openTime(n int, _ func(int, time.Duration)) *timers {
	handles := make([]*time.Timer, n)
	t := byHandle(handles, time.AfterFunc, func() {
		for _, t := range handles {
			t.Stop()
		}
	})
	t.reset = func(i int, d time.Duration) { handles[i].Reset(d) }
	return t
}

func openHandle(n int, _ func(int, time.Duration)) *timers {
	w := must(timingwheel.NewTimers(timerTick, timerSlots))
	handles := make([]*timingwheel.Timer, n)
	t := byHandle(handles, w.AfterFunc, w.Stop)
	t.reset = func(i int, d time.Duration) { handles[i].Reset(d) }
	return t
}

func openKeyed(_ int, call func(int, time.Duration)) *timers {
	w := must(timingwheel.New(timerTick, timerSlots, call))
	return &timers{
		set:   func(i int, due time.Duration, _ func()) { _ = w.SetTimer(i, due, until(due)) },
		reset: func(i int, d time.Duration) { _, _ = w.MoveTimer(i, d) },
		startStop: func(i int, d time.Duration) {
			_ = w.SetTimer(-1-i, d, d)
			_, _ = w.RemoveTimer(-1 - i)
		},
		stop: w.Stop,
	}
}

func openGoZero(n int, call func(int, time.Duration)) *timers {
	w := must(collection.NewTimingWheel(timerTick, timerSlots, func(k, v any) { call(k.(int), v.(time.Duration)) }))
	keys := make([]any, n) // boxed once
	return &timers{
		set: func(i int, due time.Duration, _ func()) {
			keys[i] = i
			_ = w.SetTimer(keys[i], due, until(due))
		},
		reset: func(i int, d time.Duration) { _ = w.MoveTimer(keys[i], d) },
		startStop: func(i int, d time.Duration) {
			_ = w.SetTimer(-1-i, d, d)
			_ = w.RemoveTimer(-1 - i)
		},
		stop: w.Stop,
	}
}
