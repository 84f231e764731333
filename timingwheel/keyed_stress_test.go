package timingwheel

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A keyedGeneration is one timer of a key, from the SetTimer that made it, or
// replaced its predecessor, on.
type keyedGeneration struct {
	fired, drained atomic.Int64
	at             atomic.Int64 // when it was fired
	notBefore      time.Time    // by its last Set or Move
	replaced       bool
	removed        bool // RemoveTimer returned true
}

// A keyedLedger has the generations of one key. mu is held during operations, not
// by callbacks.
type keyedLedger struct {
	mu  sync.Mutex
	all []*keyedGeneration
}

func (l *keyedLedger) last() *keyedGeneration {
	if len(l.all) == 0 {
		return new(keyedGeneration)
	}
	return l.all[len(l.all)-1]
}

// TestKeyedStress runs random operations at the same time, with real time and short
// ticks, and then looks at the ledgers: every generation fired or was drained at
// most once, exactly once unless it was removed or replaced, never after RemoveTimer
// returned true, and never early.
func TestKeyedStress(t *testing.T) {
	for name, opts := range map[string][]Option{
		"workers":     nil,
		"one worker":  {WithWorkers(1)},
		"pool":        {WithPool(func(run func()) error { go run(); return nil })},
		"flaky pool":  {WithPool(keyedFlaky)},
		"small limit": {WithLimit(20), WithWorkers(3)},
	} {
		t.Run(name, func(t *testing.T) { keyedStress(t, opts) })
	}
}

// keyedFlaky is a pool which has no room now and then.
func keyedFlaky(run func()) error {
	if rand.IntN(3) == 0 {
		return ErrFull
	}
	go func() {
		if rand.IntN(10) == 0 {
			time.Sleep(time.Millisecond)
		}
		run()
	}()
	return nil
}

func keyedStress(t *testing.T, opts []Option) {
	const goroutines, keys, ops = 8, 50, 2000
	var ledgers [keys]keyedLedger
	var started, removed, refused, calls atomic.Int64
	w := newKeyed(t, 200*time.Microsecond, 4, func(key int, g *keyedGeneration) {
		g.at.Store(int64(time.Since(keyedEpoch)))
		g.fired.Add(1)
		if calls.Add(1)%16 == 0 {
			panic("oops")
		}
	}, append(opts, WithOnPanic(func(any, []byte) {}))...)

	do := func(r *rand.Rand) {
		key := r.IntN(keys)
		l := &ledgers[key]
		l.mu.Lock()
		defer l.mu.Unlock()
		g := l.last()
		delay := 1 + time.Duration(r.IntN(3_000_000))
		if r.IntN(4) == 0 {
			delay *= 5
		}
		switch now := time.Now(); r.IntN(5) {
		case 0, 1:
			next := &keyedGeneration{notBefore: now.Add(delay)}
			if err := w.SetTimer(key, next, delay); err == nil {
				g.replaced = true
				l.all = append(l.all, next)
				started.Add(1)
			} else if err == ErrFull {
				refused.Add(1)
			} else {
				t.Error(err)
			}
		case 2, 3:
			if found, err := w.MoveTimer(key, delay); err != nil {
				t.Error(err)
			} else if found {
				g.notBefore = now.Add(delay)
			}
		case 4:
			if found, err := w.RemoveTimer(key); err != nil {
				t.Error(err)
			} else if found {
				g.removed = true
				removed.Add(1)
			}
		}
	}
	var all sync.WaitGroup
	for n := range goroutines {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(n), uint64(time.Now().UnixNano())))
			for i := range ops {
				do(r)
				switch r.IntN(2000) {
				case 0:
					if err := w.Drain(func(_ int, g *keyedGeneration) { g.drained.Add(1) }); err != nil {
						t.Error(err)
					}
				case 1, 2, 3:
					seen := map[int]bool{}
					for p := range w.All() {
						if p.Value == nil || p.Key < 0 || p.Key >= keys {
							t.Errorf("All yields %v", p)
						}
						seen[p.Key] = true
					}
				case 4, 5, 6:
					_ = w.Stats()
				}
				if w.Len() > keys {
					t.Errorf("Len is %d with %d keys", w.Len(), keys)
				}
				if i%8 == 0 {
					time.Sleep(200 * time.Microsecond)
				}
			}
		})
	}
	all.Wait()
	settled := func() bool { s := w.Stats(); return w.Len() == 0 && s.Running == 0 }
	for end := time.Now().Add(time.Minute); !settled() && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if !settled() {
		t.Fatalf("%d timers were lost: %+v", w.Len(), w.Stats())
	}
	fired := checkKeyedLedgers(t, ledgers[:])
	s := w.Stats()
	if s.Fired != uint64(fired) || s.Started != s.Fired+s.Removed || s.Removed < uint64(removed.Load()) || s.Started > uint64(started.Load()) {
		t.Errorf("stats %+v; in the ledgers %d started or replaced, %d fired, %d removed", s, started.Load(), fired, removed.Load())
	}
	must(t, checkKeyed(w))
	for end := time.Now().Add(time.Minute); w.alarm.Load() != never && time.Now().Before(end); { // a last tick finds nothing
		time.Sleep(time.Millisecond)
	}
	wantKeyedSleep(t, w)
	t.Logf("%d fired, %d removed, %d refused", s.Fired, s.Removed, refused.Load())
}

var keyedEpoch = time.Now()

// checkKeyedLedgers checks the ledgers of a wheel that is at rest, and returns how
// many fired.
func checkKeyedLedgers(t *testing.T, ledgers []keyedLedger) (total int64) {
	for key := range ledgers {
		for i, g := range ledgers[key].all {
			fired, drained := g.fired.Load(), g.drained.Load()
			total += fired
			switch n := fired + drained; {
			case n > 1:
				t.Errorf("key %d, generation %d: fired %d times, drained %d times", key, i, fired, drained)
			case g.removed && n > 0:
				t.Errorf("key %d, generation %d: removed, and yet fired %d, drained %d", key, i, fired, drained)
			case n == 0 && !g.removed && !g.replaced:
				t.Errorf("key %d, generation %d of %d: lost", key, i, len(ledgers[key].all))
			}
			if at := keyedEpoch.Add(time.Duration(g.at.Load())); fired == 1 && at.Before(g.notBefore) {
				t.Errorf("key %d, generation %d: %v early", key, i, g.notBefore.Sub(at))
			}
		}
	}
	return total
}

// TestKeyedStopStress stops a wheel while all its methods are used.
func TestKeyedStopStress(t *testing.T) {
	for range 20 {
		var stopped atomic.Bool
		var late atomic.Int64
		w := newKeyed(t, minInterval, 4, func(int, int) {
			if stopped.Load() {
				late.Add(1)
			}
		})
		var all sync.WaitGroup
		for n := range 8 {
			all.Go(func() {
				for i := 0; ; i++ {
					if w.SetTimer(n*100+i%100, i, time.Duration(1+i%1_000_000)) == ErrClosed {
						return
					}
					if i%17 == 0 {
						_ = w.Drain(func(int, int) {})
					}
					if i%100 == 0 {
						runtime.Gosched()
					}
				}
			})
		}
		time.Sleep(2 * time.Millisecond)
		must(t, w.Shutdown(t.Context()))
		fired := w.Stats().Fired
		stopped.Store(true)
		all.Wait()
		time.Sleep(time.Millisecond)
		if late.Load() > 0 || w.Stats().Fired != fired || w.Len() != 0 {
			t.Errorf("after Shutdown %d callbacks ran, %d timers are left", late.Load(), w.Len())
		}
	}
}

// TestKeyedWakeUps sets one timer after another, so that each must wake a driver that is
// about to sleep.
func TestKeyedWakeUps(t *testing.T) {
	done := make(chan int, 1)
	w := newKeyed(t, minInterval, 2, func(key, _ int) { done <- key })
	late := time.NewTimer(time.Minute)
	defer late.Stop()
	for i := range 2000 {
		mustSetKeyed(t, w, i, 0, time.Duration(1+i%3*100_000))
		select {
		case key := <-done:
			if key != i {
				t.Fatalf("called %d, want %d", key, i)
			}
		case <-late.C:
			t.Fatalf("timer %d does not fire: %+v, alarm %d", i, w.Stats(), w.alarm.Load())
		}
	}
}
