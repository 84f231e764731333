package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/bench/results"
)

// nearBelow is the longest transfer of a cache line between two processors that share a
// cache. Those of a virtual machine may or may not, and that can change while it runs.
//
// A transfer above busyAbove means that the threads do not run at once.
const (
	nearBelow = 100 * time.Nanosecond
	busyAbove = time.Microsecond
)

// distance returns whether two processors are near each other or far apart, or Mixed if other
// programs use them too much to tell.
func distance() string {
	best := handOver(time.Millisecond)
	for range 4 {
		if best < nearBelow {
			return results.Near
		}
		best = min(best, handOver(time.Millisecond))
	}
	if best > busyAbove {
		return results.Mixed
	}
	return results.Far
}

// handOver passes a cache line between two threads for a while and returns the time of one
// transfer: the best of many short runs, as other programs may use the processors.
func handOver(d time.Duration) time.Duration {
	const turns = 64
	var line struct {
		_    [64]byte
		turn atomic.Uint32
		_    [64]byte
		stop atomic.Bool
	}
	var wg sync.WaitGroup
	began, best := time.Now(), time.Hour
	for mine := range uint32(2) {
		wg.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			last := began
			for n := 0; ; n++ {
				for spins := 1; line.turn.Load() != mine; spins++ {
					if line.stop.Load() {
						return
					}
					if spins%4096 == 0 && time.Since(began) > d {
						line.stop.Store(true) // the other one does not run
					}
				}
				if mine == 0 && n%turns == 0 {
					now := time.Now()
					if n > 0 {
						best = min(best, now.Sub(last)/(2*turns))
					}
					last = now
					line.stop.Store(now.Sub(began) > d)
				}
				line.turn.Store(1 - mine)
			}
		})
	}
	wg.Wait()
	return best
}

// between returns the distance for a time with these distances at its begin and end.
func between(before, after string) string {
	if before != after {
		return results.Mixed
	}
	return before
}
