package timingwheel

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// tmWantNothing checks that nothing can be received.
func tmWantNothing(t *testing.T, what string, c <-chan time.Time) {
	t.Helper()
	synctest.Wait()
	if at := tmReceived(c); !at.IsZero() {
		t.Errorf("%s: received %v", what, at)
	}
}

// TestChannelTimerRaces resets and stops timers as they fire: no time from before is
// received.
func TestChannelTimerRaces(t *testing.T) {
	timers := mustTimers(t, minInterval, 4)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			timer := timers.NewTimer(0)
			for i := range 300 {
				d := time.Duration((i*7+g)%4) * minInterval
				before := time.Now()
				timer.Reset(d)
				if i%3 == 0 {
					time.Sleep(time.Duration(i%5) * minInterval / 2)
					timer.Stop()
					if !tmReceived(timer.C).IsZero() {
						t.Error("received after Stop")
					}
					continue
				}
				if at := <-timer.C; at.Before(before.Add(d)) || time.Now().Before(at) {
					t.Errorf("received %v, %v after Reset(%v), at %v", at, at.Sub(before), d, time.Since(before))
				}
			}
			timer.Stop()
		})
	}
	wg.Wait()
	wantSame(t, "Len", timers.Len(), 0)
}

// TestSleep checks what Sleep returns, and when: after d, when its context ends, and after
// Stop.
func TestSleep(t *testing.T) {
	stop := errors.New("stop")
	none := context.Background
	ended := func(cause error) func() context.Context {
		return func() context.Context {
			ctx, cancel := context.WithCancelCause(none())
			cancel(cause)
			return ctx
		}
	}
	ends := func() context.Context {
		ctx, cancel := context.WithTimeoutCause(none(), 12*ms, stop)
		t.Cleanup(cancel)
		return ctx
	}
	for name, test := range map[string]struct {
		ctx   func() context.Context
		stops time.Duration // when the wheel is stopped, if it is
		d     time.Duration
		want  error
		took  time.Duration
	}{
		"in full":                        {none, -1, 25 * ms, nil, 30 * ms},
		"0":                              {none, -1, 0, nil, 0},
		"negative":                       {none, -1, -1, nil, 0},
		"ctx has ended":                  {ended(stop), -1, time.Hour, stop, 0},
		"ctx has ended, without a cause": {ended(nil), -1, time.Hour, context.Canceled, 0},
		"ctx has ended, 0":               {ended(stop), -1, 0, stop, 0},
		"ctx ends":                       {ends, -1, time.Hour, stop, 12 * ms},
		"Stop":                           {none, 13 * ms, time.Hour, ErrClosed, 13 * ms},
		"after Stop":                     {none, 0, time.Hour, ErrClosed, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			timers := mustTimers(t, 10*ms, 8)
			if test.stops >= 0 {
				time.AfterFunc(test.stops, timers.Stop)
				synctest.Wait()
			}
			start := time.Now()
			if err := timers.Sleep(test.ctx(), test.d); err != test.want || time.Since(start) != test.took {
				t.Errorf("%s: got %v after %v, want %v after %v", name, err, time.Since(start), test.want, test.took)
			}
			synctest.Wait()
			wantSame(t, name+": Len after it", timers.Len(), 0)
		})
	}
}

// TestTickerAgainstTime receives from tickers of the wheel and of package time, at
// once and late, and must get the same. Timers with channels need no worker.
func TestTickerAgainstTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := mustTimers(t, 10*ms, 8, WithWorkers(1))
		timers.AfterFunc(0, func() { time.Sleep(time.Minute) })
		start := time.Now()
		if err := timers.Sleep(t.Context(), 20*ms); err != nil || time.Since(start) != 20*ms || timers.Stats().Running != 1 {
			t.Errorf("Sleep: %v, after %v", err, time.Since(start))
		}
		if at := <-timers.NewTimer(15 * ms).C; !at.Equal(start.Add(40*ms)) || !at.Equal(time.Now()) {
			t.Errorf("sent at %v, received at %v", at.Sub(start), time.Since(start))
		}
		ours, theirs := timers.NewTicker(20*ms), time.NewTicker(20*ms)
		defer theirs.Stop()
		for i := range 50 {
			time.Sleep(time.Duration(i%7) * 9 * ms) // never to the moment of a tick
			want := <-theirs.C
			if got := <-ours.C; !got.Equal(want) {
				t.Errorf("tick %d: got %v, want %v", i, got, want)
			}
		}
		time.Sleep(30 * ms) // a tick is there, and Reset takes it back
		wantSame(t, "Reset", ours.Reset(10*ms), true)
		theirs.Reset(10 * ms)
		tmWantNothing(t, "Reset", ours.C)
		for i := range 10 {
			want := <-theirs.C
			if got := <-ours.C; !got.Equal(want) {
				t.Errorf("tick %d after Reset: got %v, want %v", i, got, want)
			}
		}
		wantSame(t, "Len, with the ticker", timers.Len(), 1)
		wantSame(t, "Stop", ours.Stop(), true)
		wantSame(t, "Stop again", ours.Stop(), false)
		wantSame(t, "Reset after Stop", ours.Reset(30*ms), false)
		time.Sleep(30 * ms)
		synctest.Wait()
		wantSame(t, "Stop with a tick that was not received", ours.Stop(), true)
		tmWantNothing(t, "NewTicker", ours.C)
		time.Sleep(time.Second)
		tmWantNothing(t, "NewTicker", ours.C)
	})
}

// TestTicksEnd ends the loop over ticks in each possible way.
func TestTicksEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := mustTimers(t, 10*ms, 8)
		for range 20 { // in the body
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			n := 0
			for range timers.Ticks(ctx, 20*ms) {
				n++
				cancel()
				time.Sleep(100 * ms) // a tick is there, but so is the end
			}
			if n != 1 || timers.Len() != 0 {
				t.Fatalf("%d ticks, Len %d", n, timers.Len())
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		for _, end := range []func(){cancel, timers.Stop} {
			time.AfterFunc(45*ms, end)
			l := newTimes()
			for at := range timers.Ticks(ctx, 20*ms) {
				if !at.Equal(time.Now()) {
					t.Errorf("got %v at %v", at, time.Now())
				}
				l.note()
			}
			l.note()
			l.want(t, 20, 40, 45)
			wantSame(t, "Len", timers.Len(), 0)
			ctx = t.Context()
			time.Sleep(5 * ms) // to a tick
		}
	})
}

// TestStopLeavesForeignChannels checks that Stop of a timer with a function does not
// receive from a channel that its owner has put into C.
func TestStopLeavesForeignChannels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := mustTimers(t, 10*ms, 8)
		c := make(chan time.Time, 1)
		timer := timers.AfterFunc(10*ms, func() { c <- time.Now() })
		timer.C = c
		time.Sleep(20 * ms)
		wantSame(t, "Stop", timer.Stop(), false)
		if tmReceived(timer.C).IsZero() {
			t.Error("Stop has taken what the function sent")
		}
	})
}
