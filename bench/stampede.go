package main

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/bench/libs"
)

// runStampede lets a thousand goroutines take one missing key, whose fetch takes
// a millisecond.
func runStampede(l libs.Library, _ bool) ([]figure, error) {
	const goroutines = 1000
	var fetches atomic.Int64
	value := new(uint64)
	cache := l.String(libs.Config[string, *uint64]{Capacity: 100_000, TTL: time.Hour, Load: func(string) (*uint64, error) {
		fetches.Add(1)
		time.Sleep(time.Millisecond)
		return value, nil
	}})
	taker, ok := cache.(libs.Taker[string, *uint64])
	if !ok {
		return nil, nil
	}
	var ready, done sync.WaitGroup
	ready.Add(goroutines)
	start := make(chan struct{})
	for range goroutines {
		done.Go(func() {
			ready.Done()
			<-start
			_, _ = taker.Take("key")
		})
	}
	ready.Wait()
	began := time.Now()
	close(start)
	done.Wait()
	return []figure{
		{"ms", float64(time.Since(began).Nanoseconds()) / 1e6},
		{"fetches", float64(fetches.Load())},
	}, nil
}
