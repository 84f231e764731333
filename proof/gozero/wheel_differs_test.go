package gozero

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// The tests of this file do the same with go-zero's wheel and with ours, in fake time, and
// assert both results. If that of go-zero's fails, go-zero has fixed the fault, and
// docs/go-zero.md is out of date.

// TestWheelDiffersByTicks has wheels of ten slots, driven by a ticker.
func TestWheelDiffersByTicks(t *testing.T) {
	for _, c := range []struct {
		name         string
		do           func(t *testing.T, r *rig)
		ours, theirs []string
	}{
		{
			"moved nearer: a revolution late",
			func(t *testing.T, r *rig) {
				r.tick(4)
				must(t, r.SetTimer("x", 1, 8*step))
				must(t, r.MoveTimer("x", 2*step))
			},
			[]string{"x=1@6"}, []string{"x=1@16"},
		},
		{
			"moved from the slot of the cursor: a revolution late",
			func(t *testing.T, r *rig) {
				r.tick(4)
				must(t, r.SetTimer("x", 1, 10*step))
				must(t, r.MoveTimer("x", step))
			},
			[]string{"x=1@5"}, []string{"x=1@15"},
		},
		{
			"moved away: a revolution early",
			func(t *testing.T, r *rig) {
				r.tick(4)
				must(t, r.SetTimer("x", 1, 2*step))
				must(t, r.MoveTimer("x", 18*step))
			},
			[]string{"x=1@22"}, []string{"x=1@12"},
		},
		{
			"set again, later: a revolution early",
			func(t *testing.T, r *rig) {
				r.tick(4)
				must(t, r.SetTimer("x", 1, 2*step))
				must(t, r.SetTimer("x", 2, 18*step))
			},
			[]string{"x=2@22"}, []string{"x=2@12"},
		},
		{
			"moved below an interval: fires twice",
			func(t *testing.T, r *rig) {
				must(t, r.SetTimer("x", 1, 5*step))
				must(t, r.MoveTimer("x", step/2))
			},
			[]string{"x=1@0"}, []string{"x=1@0", "x=1@5"},
		},
		{
			"moved below an interval three times: fires four times",
			func(t *testing.T, r *rig) {
				must(t, r.SetTimer("x", 1, 5*step))
				for range 3 {
					must(t, r.MoveTimer("x", step/2))
				}
			},
			[]string{"x=1@0"}, []string{"x=1@0", "x=1@0", "x=1@0", "x=1@5"},
		},
		{
			"a delay that is not a whole number of intervals: early",
			func(t *testing.T, r *rig) { must(t, r.SetTimer("x", 1, 2*step+1)) },
			[]string{"x=1@3"}, []string{"x=1@2"},
		},
		{
			"set again after Drain: never",
			func(t *testing.T, r *rig) {
				must(t, r.SetTimer("x", 1, 5*step))
				must(t, r.Drain(func(any, any) {}))
				must(t, r.SetTimer("x", 2, 7*step))
			},
			[]string{"x=2@7"}, nil,
		},
		{
			"moved after Drain: fires",
			func(t *testing.T, r *rig) {
				must(t, r.SetTimer("x", 1, 5*step))
				must(t, r.Drain(func(any, any) {}))
				must(t, r.MoveTimer("x", step/2))
			},
			nil, []string{"x=1@0"},
		},
	} {
		inBubble(t, c.name, func(t *testing.T) {
			for _, side := range []struct {
				whose string
				rig   *rig
				want  []string
			}{{"ours", newOurs(t, 10), c.ours}, {"go-zero", newTheirs(t, 10), c.theirs}} {
				c.do(t, side.rig)
				synctest.Wait()
				side.rig.tick(60)
				side.rig.Stop()
				wantCalls(t, side.whose, side.rig.calls(), side.want...)
			}
		})
	}
}

// TestWheelDiffersByClock has wheels driven by the clock.
func TestWheelDiffersByClock(t *testing.T) {
	type newWheel = func(t *testing.T, interval time.Duration, execute func(key, value any)) peer
	both := func(t *testing.T, f func(t *testing.T, whose string, wheel newWheel)) {
		f(t, "ours", ourClock)
		f(t, "go-zero", theirClock)
	}
	want := func(t *testing.T, whose string, got, ours, theirs any) {
		t.Helper()
		w := ours
		if whose != "ours" {
			w = theirs
		}
		if got != w {
			t.Errorf("%s: %v, want %v", whose, got, w)
		}
	}

	inBubble(t, "set between two ticks: early", func(t *testing.T) {
		both(t, func(t *testing.T, whose string, wheel newWheel) {
			fired := make(chan time.Time, 1)
			w := wheel(t, 50*ms, func(any, any) { fired <- time.Now() })
			time.Sleep(45 * ms)
			set := time.Now()
			must(t, w.SetTimer("x", 1, 50*ms))
			want(t, whose, (<-fired).Sub(set), 55*ms, 5*ms)
			w.Stop()
		})
	})
	inBubble(t, "callbacks of one tick: one after another", func(t *testing.T) {
		both(t, func(t *testing.T, whose string, wheel newWheel) {
			r := newRig()
			w := wheel(t, time.Second, func(key, _ any) {
				r.noteTime(key)
				time.Sleep(50 * ms)
			})
			for i := range 3 {
				must(t, w.SetTimer(i, 0, time.Second))
			}
			time.Sleep(10 * time.Second)
			w.Stop()
			want(t, whose, fmt.Sprint(r.calls()), "[0@1s 1@1s 2@1s]", "[0@1s 1@1.05s 2@1.1s]")
		})
	})
	inBubble(t, "slow callbacks: pile up goroutines", func(t *testing.T) {
		both(t, func(t *testing.T, whose string, wheel newWheel) {
			r := newRig()
			w := wheel(t, time.Second, func(key, _ any) {
				r.noteTime(key)
				time.Sleep(time.Hour)
			})
			for i := range 100 {
				must(t, w.SetTimer(i, 0, time.Duration(i+1)*time.Second))
			}
			time.Sleep(10 * time.Minute)
			want(t, whose, len(r.calls()), 64, 100) // run at once
			w.Stop()
			time.Sleep(time.Hour)
		})
	})
	inBubble(t, "removed while it waits for its turn: fires", func(t *testing.T) {
		both(t, func(t *testing.T, whose string, wheel newWheel) {
			r := newRig()
			w := wheel(t, time.Second, func(key, _ any) {
				r.noteTime(key)
				time.Sleep(ms)
			})
			for i := range 100 {
				must(t, w.SetTimer(i, 0, time.Second))
			}
			time.Sleep(time.Second)
			synctest.Wait()
			for i := range 100 {
				must(t, w.RemoveTimer(i))
			}
			time.Sleep(10 * time.Second)
			w.Stop()
			want(t, whose, len(r.calls()), 64, 100) // 64 had begun
		})
	})
	inBubble(t, "Goexit in a callback: the others of the tick are lost", func(t *testing.T) {
		both(t, func(t *testing.T, whose string, wheel newWheel) {
			r := newRig()
			w := wheel(t, time.Second, func(key, _ any) {
				r.noteTime(key)
				runtime.Goexit()
			})
			for i := range 5 {
				must(t, w.SetTimer(i, 0, time.Second))
			}
			time.Sleep(10 * time.Second)
			w.Stop()
			want(t, whose, len(r.calls()), 5, 1)
		})
	})
	inBubble(t, "Drain: does not wait, all others do", func(t *testing.T) {
		both(t, func(t *testing.T, whose string, wheel newWheel) {
			w := wheel(t, time.Second, func(any, any) {})
			must(t, w.SetTimer("x", 1, time.Minute))
			began := time.Now()
			set := make(chan time.Duration)
			go func() {
				time.Sleep(ms)
				_ = w.SetTimer("y", 1, time.Minute)
				set <- time.Since(began)
			}()
			must(t, w.Drain(func(any, any) { time.Sleep(100 * ms) }))
			drained := time.Since(began)
			want(t, whose, fmt.Sprint(drained, <-set), "100ms 1ms", "0s 100ms")
			w.Stop()
		})
	})
	inBubble(t, "Drain: its function cannot use the wheel", func(t *testing.T) {
		both(t, func(t *testing.T, whose string, wheel newWheel) {
			w := wheel(t, time.Second, func(any, any) {})
			must(t, w.SetTimer("x", 1, time.Minute))
			results := make(chan error, 1)
			must(t, w.Drain(func(key, _ any) { results <- w.RemoveTimer(key) }))
			time.Sleep(time.Hour)
			done := len(results) == 1
			w.Stop() // sets go-zero's wheel free
			<-results
			want(t, whose, done, true, false)
		})
	})
	inBubble(t, "Drain: 8 calls at once", func(t *testing.T) {
		both(t, func(t *testing.T, whose string, wheel newWheel) {
			w := wheel(t, time.Second, func(any, any) {})
			want(t, whose, drainAtOnce(t, w), 64, 8)
			w.Stop()
		})
		want(t, "ours", drainAtOnce(t, newOurs(t, 10)), 64, nil)
	})
	inBubble(t, "Stop twice: panics", func(t *testing.T) {
		both(t, func(t *testing.T, whose string, wheel newWheel) {
			w := wheel(t, time.Second, func(any, any) {})
			w.Stop()
			defer func() { want(t, whose, recover() != nil, false, true) }()
			w.Stop()
		})
	})
}

// drainAtOnce returns how many calls of Drain begin at once.
func drainAtOnce(t *testing.T, w peer) int {
	t.Helper()
	for i := range 100 {
		must(t, w.SetTimer(i, nil, step))
	}
	var begun atomic.Int32
	go func() { _ = w.Drain(func(any, any) { begun.Add(1); time.Sleep(time.Second) }) }()
	synctest.Wait()
	n := int(begun.Load())
	time.Sleep(time.Minute / 2)
	return n
}

// TestWheelDiffersInMemory measures the memory of removed timers. go-zero keeps each until the
// cursor reaches it.
func TestWheelDiffersInMemory(t *testing.T) {
	for name, do := range map[string]func(t *testing.T, r *rig){
		"one key, set and removed": func(t *testing.T, r *rig) {
			for range 20_000 {
				must(t, r.SetTimer("x", 1, 200*step))
				must(t, r.RemoveTimer("x"))
			}
		},
		"many keys, drained": func(t *testing.T, r *rig) {
			for i := range 20_000 {
				must(t, r.SetTimer(i, 1, 200*step))
			}
			must(t, r.Drain(func(any, any) {}))
		},
	} {
		inBubble(t, name, func(t *testing.T) {
			ours, theirs := newOurs(t, 300), newTheirs(t, 300)
			defer theirs.Stop()
			for _, r := range []*rig{ours, theirs} {
				before := heap()
				do(t, r)
				synctest.Wait()
				grown := heap() - before
				if r == ours && grown > 100_000 {
					t.Errorf("ours: %d bytes", grown)
				}
				if r == theirs && grown < 1_000_000 {
					t.Errorf("go-zero: %d bytes", grown)
				}
			}
		})
	}
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
