package runner

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestPoolStress lets producers add work and wait for it, while callers and
// workers run it and some of it fails. A wake-up that is lost leaves work behind:
// as soon as all producers wait for theirs, nobody would find it.
func TestPoolStress(t *testing.T) {
	for workers := 1; workers <= 8; workers++ {
		for _, callers := range []int{0, 2} {
			t.Run(fmt.Sprintf("workers=%d/callers=%d", workers, callers), func(t *testing.T) {
				stressPool(t, workers, callers)
			})
		}
	}
}

func stressPool(t *testing.T, workers, callers int) {
	const producers = 8
	perProducer := 2_000
	if testing.Short() {
		perProducer = 200
	}

	l := newList(workers, nil)
	var ran, failed, at, most atomic.Int64
	callback := func(i int, done chan<- struct{}) {
		n := at.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		if i%17 == 0 {
			l.add(func() { ran.Add(1) })
		}
		ran.Add(1)
		at.Add(-1)
		if done != nil {
			done <- struct{}{}
		}
		if i%11 == 0 || i%13 == 0 {
			failed.Add(1)
			panicOrExit(i%11 == 0)
		}
	}

	var helpers, wg sync.WaitGroup
	stop := make(chan struct{})
	for range callers {
		helpers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					<-started(func() { l.caller() }) // which may end the goroutine
				}
			}
		})
	}
	var want atomic.Int64
	for p := range producers {
		wg.Go(func() {
			done := make(chan struct{}, 1)
			timeout := time.NewTimer(time.Minute)
			defer timeout.Stop()
			for i := range perProducer {
				n := p + i
				want.Add(1)
				if n%17 == 0 {
					want.Add(1)
				}
				if i%(p+1) != 0 {
					l.add(func() { callback(n, nil) })
					continue
				}
				l.add(func() { callback(n, done) })
				select {
				case <-done:
				case <-timeout.C:
					t.Errorf("work is left behind: %d ready, Running = %d", l.ready.Load(), l.Running())
					return
				}
			}
		})
	}
	wg.Wait()
	close(stop)
	helpers.Wait()
	must(t, l.Drain(t.Context()))
	wantSame(t, "callbacks that ran", ran.Load(), want.Load())
	if got, want := most.Load(), int64(workers+callers); got > want {
		t.Errorf("%d callbacks at once, want at most %d", got, want)
	}
	wantSame(t, "Panics", l.Panics(), uint64(failed.Load()))
	l.checkIdle(t)
}
