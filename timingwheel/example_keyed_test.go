package timingwheel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pinwheel-cache/pinwheel/timingwheel"
)

func ExampleNew() {
	closed := make(chan string)
	wheel, err := timingwheel.New(time.Millisecond, 512, func(id int, name string) { closed <- name })
	if err != nil {
		panic(err)
	}
	defer wheel.Stop()

	wheel.SetTimer(1, "first", time.Hour)
	wheel.SetTimer(2, "second", 20*time.Millisecond)
	fmt.Println(<-closed, "timed out,", wheel.Len(), "is left")

	_, err = timingwheel.New(30, 512, func(int, string) {})
	fmt.Println(err)
	// Output:
	// second timed out, 1 is left
	// timingwheel: interval is 30ns: want at least 100µs; was a unit forgotten, as in 30*time.Millisecond?
}

func ExampleTimingWheel_SetTimer() {
	done := make(chan string)
	wheel, _ := timingwheel.New(time.Millisecond, 512, func(key, value string) { done <- key + " " + value })
	defer wheel.Stop()

	wheel.SetTimer("job", "old", time.Hour)
	wheel.SetTimer("job", "new", time.Millisecond) // in place of the other
	fmt.Println(<-done)

	fmt.Println(wheel.SetTimer("job", "", 0))
	// Output:
	// job new
	// timingwheel: delay of SetTimer is 0s: want a positive one
}

func ExampleTimingWheel_MoveTimer() {
	start := time.Now()
	silent := make(chan time.Duration)
	wheel, _ := timingwheel.New(time.Millisecond, 512, func(string, struct{}) { silent <- time.Since(start) })
	defer wheel.Stop()

	wheel.SetTimer("conn", struct{}{}, 300*time.Millisecond)
	for range 5 { // five signs of life
		time.Sleep(10 * time.Millisecond)
		wheel.MoveTimer("conn", 300*time.Millisecond)
	}
	fmt.Println("silent, but not before 350ms:", <-silent >= 350*time.Millisecond)

	moved, _ := wheel.MoveTimer("conn", time.Second)
	fmt.Println("moved:", moved)
	// Output:
	// silent, but not before 350ms: true
	// moved: false
}

func ExampleTimingWheel_RemoveTimer() {
	wheel, _ := timingwheel.New(time.Millisecond, 512, func(string, int) {})
	defer wheel.Stop()

	wheel.SetTimer("a", 1, time.Hour)
	fmt.Println(wheel.RemoveTimer("a"))
	fmt.Println(wheel.RemoveTimer("a"))
	// Output:
	// true <nil>
	// false <nil>
}

func ExampleTimingWheel_Drain() {
	wheel, _ := timingwheel.New(time.Millisecond, 512, func(string, int) {})
	defer wheel.Stop()
	wheel.SetTimer("a", 1, time.Hour)
	wheel.SetTimer("b", 2, time.Minute)

	var (
		mu   sync.Mutex
		left []string
	)
	wheel.Drain(func(key string, value int) {
		mu.Lock()
		defer mu.Unlock()
		left = append(left, fmt.Sprint(key, value))
	})
	slices.Sort(left)
	fmt.Println(strings.Join(left, " "), wheel.Len())
	// Output: a1 b2 0
}

// Timers that survive a restart.
func ExampleTimingWheel_All() {
	before, _ := timingwheel.New(time.Millisecond, 512, func(string, string) {})
	before.SetTimer("mail", "to ann", 20*time.Millisecond)
	before.SetTimer("poll", "hourly", time.Hour)
	saved := slices.Collect(before.All())
	before.Stop()

	time.Sleep(30 * time.Millisecond) // the restart

	fired := make(chan string)
	after, _ := timingwheel.New(time.Millisecond, 512, func(key, value string) { fired <- key + " " + value })
	defer after.Stop()
	for _, p := range saved {
		after.SetTimerAt(p.Key, p.Value, p.Due)
	}
	fmt.Println(<-fired)
	fmt.Println(after.Len(), "waits")
	// Output:
	// mail to ann
	// 1 waits
}

func ExampleTimingWheel_Shutdown() {
	running := make(chan bool)
	wheel, _ := timingwheel.New(time.Millisecond, 512, func(string, int) {
		running <- true
		time.Sleep(10 * time.Millisecond)
		fmt.Println("callback has ended")
	})
	wheel.SetTimer("a", 1, time.Millisecond)
	<-running

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	fmt.Println(wheel.Shutdown(ctx))
	fmt.Println(errors.Is(wheel.SetTimer("b", 2, time.Second), timingwheel.ErrClosed))
	// Output:
	// callback has ended
	// <nil>
	// true
}

// Callbacks on a custom pool, here two goroutines.
func ExampleWithPool() {
	tasks := make(chan func(), 1)
	for range 2 {
		go func() {
			for task := range tasks {
				task()
			}
		}()
	}
	defer close(tasks)

	busy := errors.New("busy")
	submit := func(task func()) error {
		select {
		case tasks <- task:
			return nil
		default:
			return busy // the wheel asks again at its next tick
		}
	}

	var fired sync.WaitGroup
	fired.Add(100)
	wheel, _ := timingwheel.New(time.Millisecond, 512, func(int, int) { fired.Done() }, timingwheel.WithPool(submit))
	for i := range 100 {
		wheel.SetTimer(i, i, time.Millisecond)
	}
	fired.Wait()
	wheel.Shutdown(context.Background())
	fmt.Println("all fired")
	// Output: all fired
}

func ExampleWithLimit() {
	wheel, _ := timingwheel.New(time.Millisecond, 512, func(int, int) {}, timingwheel.WithLimit(2))
	defer wheel.Stop()

	for i := range 3 {
		fmt.Println(wheel.SetTimer(i, i, time.Hour))
	}
	// Output:
	// <nil>
	// <nil>
	// timingwheel: the wheel has as many timers as its limit
}

func ExampleWithOnPanic() {
	told := make(chan any)
	wheel, _ := timingwheel.New(time.Millisecond, 512, func(int, int) { panic("oops") },
		timingwheel.WithWorkers(1),
		timingwheel.WithOnPanic(func(recovered any, stack []byte) { told <- recovered }))
	defer wheel.Stop()

	wheel.SetTimer(1, 1, time.Millisecond)
	fmt.Println("callback panicked:", <-told)
	// Output: callback panicked: oops
}

func ExampleWithName() {
	wheel, _ := timingwheel.New(time.Millisecond, 512, func(int, int) {}, timingwheel.WithName("leases"))
	defer wheel.Stop()

	wheel.SetTimer(1, 1, time.Hour)
	wheel.SetTimer(2, 2, time.Hour)
	wheel.RemoveTimer(2)
	s := wheel.Stats() // the same as on the page of stats.Handler, under "leases"
	fmt.Println(s.Pending, "pending,", s.Removed, "removed,", s.Fired, "fired")
	// Output: 1 pending, 1 removed, 0 fired
}
