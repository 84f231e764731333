package main

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/stats"
	"github.com/pinwheel-cache/pinwheel/timingwheel"
)

// shortLived makes caches and wheels and soon closes or drops them.
type shortLived struct {
	failed          *failure
	dropped, closed atomic.Int64 // caches
	wheels          atomic.Int64
	left            atomic.Int64 // caches and wheels not yet collected
}

const shortName = "short-lived"

func (s *shortLived) run(ctx context.Context, h *hand) {
	for n := 0; ctx.Err() == nil; n++ {
		if n%4 == 0 {
			s.wheel(h)
		} else {
			s.cache(h, n)
		}
		time.Sleep(time.Millisecond)
	}
}

// cache makes a cache, uses it, and closes or drops it.
func (s *shortLived) cache(h *hand, n int) {
	var reported atomic.Int64
	o := cache.Options[int, *parcel]{Name: shortName, Expire: 5 * time.Second}
	if h.rng.IntN(2) == 0 {
		o.OnRemove = func(cache.Event[int, *parcel]) { reported.Add(1) }
	}
	switch h.rng.IntN(3) {
	case 0:
		o.Limit, o.WhatIf, o.HotKeys, o.Ages = 100, true, 3, true
	case 1:
		o.Idle = 20 * time.Millisecond
	}
	c := cache.Must(o)
	s.left.Add(1)
	runtime.AddCleanup(c, func(s *shortLived) { s.left.Add(-1) }, s)
	stored := int64(0)
	for i := range h.rng.IntN(400) {
		key := h.rng.IntN(200)
		switch i % 4 {
		case 0, 1:
			c.SetWithExpire(key, &parcel{}, time.Duration(h.rng.IntN(10_000))*time.Millisecond)
			stored++
		case 2:
			c.Get(key)
			c.Touch(key, time.Second)
		case 3:
			_, _ = c.Take(key, func() (*parcel, error) { return nil, errFetch })
		}
	}
	if h.rng.IntN(2) == 0 {
		s.dropped.Add(1)
		return
	}
	s.closed.Add(1)
	ctx, cancel := context.WithTimeout(context.Background(), s.failed.patience)
	defer cancel()
	if err := c.Close(ctx); err != nil {
		s.wrong("Close: %v", err)
	}
	c.Set(1, &parcel{})
	if n := c.Len(); n != 0 {
		s.wrong("a closed cache has %d entries", n)
	}
	if o.OnRemove != nil && reported.Load() != stored {
		s.wrong("%d values were stored, and OnRemove was called %d times before Close returned", stored, reported.Load())
	}
}

// wheel makes a wheel, uses it, and stops or drops it.
func (s *shortLived) wheel(h *hand) {
	var fired atomic.Int64
	w, err := timingwheel.New(time.Millisecond, 64, func(int, int) { fired.Add(1) }, timingwheel.WithName(shortName))
	if err != nil {
		s.wrong("New: %v", err)
		return
	}
	s.wheels.Add(1)
	s.left.Add(1)
	runtime.AddCleanup(w, func(s *shortLived) { s.left.Add(-1) }, s)
	for i := range h.rng.IntN(50) {
		if err := w.SetTimer(i, i, time.Duration(1+h.rng.IntN(50))*time.Millisecond); err != nil {
			s.wrong("SetTimer: %v", err)
		}
	}
	if h.rng.IntN(2) == 0 {
		return // it is collected when the last timer has fired
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.failed.patience)
	defer cancel()
	if err := w.Shutdown(ctx); err != nil {
		s.wrong("Shutdown: %v", err)
	}
	n := fired.Load()
	runtime.Gosched()
	if fired.Load() != n {
		s.wrong("a callback ran after Shutdown")
	}
}

// audit waits until all caches and wheels that were dropped have been collected.
func (s *shortLived) audit() {
	wrong := eventually(s.failed, func() string {
		if s.left.Load() == 0 && !registered() {
			return ""
		}
		runtime.GC()
		return fmt.Sprintf("%d caches and wheels that nobody holds have not been collected, registered: %v", s.left.Load(), registered())
	})
	if wrong != "" {
		s.wrong("%s", wrong)
	}
}

// registered reports whether the statistics know a short-lived cache or wheel.
func registered() bool {
	for _, c := range stats.Caches() {
		if strings.HasPrefix(c.Name, shortName) {
			return true
		}
	}
	for _, w := range stats.Wheels() {
		if strings.HasPrefix(w.Name, shortName) {
			return true
		}
	}
	return false
}

func (s *shortLived) wrong(format string, args ...any) {
	s.failed.report(violation{Subject: "short-lived caches", What: fmt.Sprintf(format, args...)})
}
