package spare

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Catches: a goroutine that waits though nothing has called Go for long.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// id returns the number of the calling goroutine.
func id() string {
	var text [64]byte
	return string(text[:runtime.Stack(text[:], false)])
}

// waiting returns how many goroutines wait.
func waiting() (n int) {
	for i := range places {
		if places[i].Load() != nil {
			n++
		}
	}
	return n
}

// until waits until some goroutines wait, or none does.
func until(t *testing.T, some bool) {
	for end := time.Now().Add(time.Minute); waiting() > 0 != some; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines wait", waiting())
		}
	}
}

// ran returns in which goroutine Go runs a function, once one waits.
func ran(t *testing.T) string {
	in := make(chan string)
	Go(Func(func() { in <- id() }))
	defer until(t, true)
	return <-in
}

// TestGoUsesAGoroutineAgain checks that a goroutine that has finished runs the next function,
// but not one that has ended by Goexit.
func TestGoUsesAGoroutineAgain(t *testing.T) {
	again := 0
	for range 100 {
		if first := ran(t); first == ran(t) { // unless a sweep came between
			again++
		}
	}
	if again == 0 {
		t.Error("none of 100 ran in the goroutine of the one before")
	}
	exited := make(chan struct{})
	Go(Func(func() {
		defer close(exited)
		runtime.Goexit()
	}))
	<-exited
	ran(t)
}

// TestSweep checks that a goroutine that waits ends after two sweeps, and none before one that
// begins after it.
func TestSweep(t *testing.T) {
	var begun sync.WaitGroup
	for range 1000 {
		begun.Add(1)
		go Go(Func(begun.Done))
	}
	begun.Wait()
	until(t, false)
	ran(t) // a sweep comes again
}

// TestGoConcurrently runs many functions at once, some of which call Go.
func TestGoConcurrently(t *testing.T) {
	var all sync.WaitGroup
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for i := range 2000 {
				all.Add(1)
				Go(Func(func() {
					defer all.Done()
					if i%3 == 0 {
						all.Add(1)
						Go(Func(all.Done))
					}
					if i%100 == 0 {
						runtime.Goexit()
					}
				}))
				if i%500 == 0 {
					time.Sleep(rest)
				}
			}
		})
	}
	callers.Wait()
	all.Wait()
}

func BenchmarkGo(b *testing.B) {
	for name, run := range map[string]func(func()){"spare": func(f func()) { Go(Func(f)) }, "new": func(f func()) { go f() }} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			done := make(chan int)
			for b.Loop() {
				run(func() { done <- deep(64) })
				<-done
			}
		})
	}
}

// deep needs a stack of some KB, as a load does.
//
//go:noinline
func deep(n int) int {
	if n == 0 {
		return 0
	}
	return deep(n-1) + 1
}
