package timingwheel_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pinwheel-cache/pinwheel/timingwheel"
)

func ExampleNewTimers() {
	timers, err := timingwheel.NewTimers(time.Millisecond, 512)
	if err != nil {
		panic(err)
	}
	defer timers.Stop()

	done := make(chan bool)
	timers.AfterFunc(10*time.Millisecond, func() { done <- true })
	fmt.Println(<-done)
	// Output: true
}

func ExampleTimers_AfterFunc() {
	timers, _ := timingwheel.NewTimers(time.Millisecond, 512)
	defer timers.Stop()

	start, done := time.Now(), make(chan time.Duration)
	timers.AfterFunc(20*time.Millisecond, func() { done <- time.Since(start) })
	fmt.Println("never early:", <-done >= 20*time.Millisecond)
	// Output: never early: true
}

func ExampleTimers_At() {
	timers, _ := timingwheel.NewTimers(time.Millisecond, 512)
	defer timers.Stop()

	done := make(chan string)
	timers.At(time.Now().Add(time.Hour), func() { done <- "later" })
	timers.At(time.Now().Add(-time.Hour), func() { done <- "overdue" })
	fmt.Println(<-done, "has run,", timers.Len(), "waits")
	// Output: overdue has run, 1 waits
}

func ExampleTimers_EveryFrom() {
	timers, _ := timingwheel.NewTimers(time.Millisecond, 512)
	defer timers.Stop()
	midnight := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	timers.EveryFrom(midnight, 24*time.Hour, func() { fmt.Println("a new day") })
	for _, next := range timers.All() {
		fmt.Println("next:", next.UTC().Round(time.Second).Format(time.TimeOnly))
	}
	// Output:
	// next: 00:00:00
}

func ExampleTimers_Every() {
	timers, _ := timingwheel.NewTimers(time.Millisecond, 512)
	defer timers.Stop()

	beats, n := make(chan int), 0
	beat := timers.Every(5*time.Millisecond, func() {
		if n++; n <= 3 { // calls never overlap
			beats <- n
		}
	})
	fmt.Println(<-beats, <-beats, <-beats)
	fmt.Println("stopped:", beat.Stop())
	// Output:
	// 1 2 3
	// stopped: true
}

func ExampleTimers_Repeat() {
	timers, _ := timingwheel.NewTimers(time.Millisecond, 512)

	tries := make(chan bool)
	timers.Repeat(3, 5*time.Millisecond, func() { tries <- true })
	for range 3 {
		<-tries
	}
	timers.Shutdown(context.Background()) // waits for the last call
	fmt.Println(timers.Stats().Fired, "calls,", timers.Len(), "timers left")
	// Output: 3 calls, 0 timers left
}

// onTheDot is a Scheduler: the multiples of a duration by the wall clock.
type onTheDot time.Duration

func (d onTheDot) Next(after time.Time) time.Time {
	return after.Truncate(time.Duration(d)).Add(time.Duration(d))
}

func ExampleTimers_Schedule() {
	timers, _ := timingwheel.NewTimers(time.Millisecond, 512)
	defer timers.Stop()

	moments := make(chan time.Time, 1)
	report := timers.Schedule(onTheDot(5*time.Millisecond), func() {
		select {
		case moments <- time.Now():
		default: // nobody wants to know
		}
	})
	for range 3 {
		<-moments
	}
	fmt.Println("three reports,", report.Stop())
	// Output: three reports, true
}

func ExampleTimers_NewTimer() {
	timers, _ := timingwheel.NewTimers(time.Millisecond, 512)
	defer timers.Stop()

	answers := make(chan string)
	timeout := timers.NewTimer(10 * time.Millisecond)
	defer timeout.Stop()
	select {
	case answer := <-answers:
		fmt.Println(answer)
	case <-timeout.C:
		fmt.Println("no answer")
	}
	// Output: no answer
}

func ExampleTimers_After() {
	timers, _ := timingwheel.NewTimers(time.Millisecond, 512)
	defer timers.Stop()

	<-timers.After(10 * time.Millisecond)
	fmt.Println("10 ms have passed")
	// Output: 10 ms have passed
}

func ExampleTimers_NewTicker() {
	timers, _ := timingwheel.NewTimers(time.Millisecond, 512)
	defer timers.Stop()

	ticker := timers.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for range 3 {
		<-ticker.C
	}
	ticker.Reset(4 * time.Millisecond)
	<-ticker.C
	fmt.Println("four ticks")
	// Output: four ticks
}

func ExampleTimers_Ticks() {
	timers, _ := timingwheel.NewTimers(time.Millisecond, 512)
	defer timers.Stop()

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n := 0
	for range timers.Ticks(ctx, 2*time.Millisecond) {
		if n++; n == 3 {
			cancel()
		}
	}
	fmt.Println(n, "ticks,", timers.Len(), "timers left")
	// Output: 3 ticks, 0 timers left
}

func ExampleTimers_Sleep() {
	timers, _ := timingwheel.NewTimers(time.Millisecond, 512)
	defer timers.Stop()

	ctx, cancel := context.WithCancelCause(context.Background())
	fmt.Println(timers.Sleep(ctx, 5*time.Millisecond))
	cancel(errors.New("called off"))
	fmt.Println(timers.Sleep(ctx, time.Hour))
	// Output:
	// <nil>
	// called off
}

func ExampleTimers_WithTimeout() {
	timers, _ := timingwheel.NewTimers(time.Millisecond, 512)
	defer timers.Stop()

	ctx, cancel := timers.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	<-ctx.Done()
	fmt.Println(ctx.Err())
	// Output: context deadline exceeded
}

func ExampleTimer_Stop() {
	timers, _ := timingwheel.NewTimers(time.Millisecond, 512)
	defer timers.Stop()

	t := timers.AfterFunc(time.Hour, func() {})
	fmt.Println(t.Stop(), t.Stop())
	// Output: true false
}

func ExampleTimer_Reset() {
	timers, _ := timingwheel.NewTimers(time.Millisecond, 512)
	defer timers.Stop()

	done := make(chan bool)
	t := timers.AfterFunc(time.Hour, func() { done <- true })
	fmt.Println("was waiting:", t.Reset(time.Millisecond))
	<-done
	fmt.Println("was waiting:", t.Reset(time.Hour))
	// Output:
	// was waiting: true
	// was waiting: false
}

func ExampleTimers_Shutdown() {
	timers, _ := timingwheel.NewTimers(time.Millisecond, 512)
	timers.AfterFunc(time.Hour, func() {})
	fmt.Println(timers.Shutdown(context.Background()), timers.Len())
	// Output: <nil> 0
}
