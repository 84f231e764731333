package main

import (
	"runtime"
	"sync"
	"time"
)

// measure runs batches of operations in goroutines for a while, each from another place of an
// order of the given length. It returns the wall time in nanoseconds divided by the
// operations of all: two threads that do not slow each other down halve it.
func measure(threads int, d time.Duration, length, offset int, batch func(at int) (found int)) (ns float64, found int) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(min(threads, runtime.NumCPU())))
	batches := make([]int, threads)
	founds := make([]int, threads)
	var ready, done sync.WaitGroup
	ready.Add(threads)
	start := make(chan time.Time)
	for t := range threads {
		at := (offset + t*(length/threads)) / batchSize * batchSize
		done.Go(func() {
			ready.Done()
			end := (<-start).Add(d)
			n, hits := 0, 0
			for ; n == 0 || time.Now().Before(end); n++ {
				hits += batch((at + n*batchSize) % length)
			}
			batches[t], founds[t] = n, hits
		})
	}
	ready.Wait()
	began := time.Now()
	for range threads {
		start <- began
	}
	done.Wait()
	took := time.Since(began)
	total := 0
	for t := range threads {
		total += batches[t]
		found += founds[t]
	}
	return float64(took.Nanoseconds()) / float64(total*batchSize), found
}
