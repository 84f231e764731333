package acceptance

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"go.uber.org/goleak"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

// Promise 6: no goroutine until the first TTL or callback; an unreferenced cache is
// collected, with its goroutine and without Close; Close is idempotent and the
// behaviour after it is defined; usable under testing/synctest.
//
// That slots let go what was removed is cache.TestModel and cache.TestSimpleModel; that no tick is without
// work, cache.TestDriverSleepsUntilAnEntryExpires; closing from several goroutines, TestCloseUnderLoad.
func TestPromise6Lifecycle(t *testing.T) {
	for name, use := range uses() {
		// Catches: a goroutine of New; a driver, runner or load that outlives its work. A bubble that ends
		// with a goroutine blocked, or waiting for a ticker, fails.
		Bubble(t, "a bubble ends without Close: "+name, func(t *testing.T) { use(New(t, usedOptions())) })
		// Catches: a timer, goroutine or registry that keeps the cache or its values alive.
		t.Run("collected: "+name, func(t *testing.T) { collected(t, name == "callback", use) })
		// Catches: a goroutine that Close forgets.
		t.Run("no goroutine after Close: "+name, func(t *testing.T) {
			running := goleak.IgnoreCurrent()
			c := New(t, usedOptions())
			use(c)
			MustClose(t, c)
			settle.VerifyNone(t, running)
		})
	}
	Bubble(t, "Close waits for loads", func(t *testing.T) {
		closeWaitsForLoads(t, cache.Options[string, int]{})
		closeWaitsForLoads(t, cache.Options[string, int]{OnRemove: func(e cache.Event[string, int]) { t.Errorf("reported %+v", e) }})
	})
	Bubble(t, "Close waits for loads that nobody waits for", closeWaitsForAbandoned)
	Bubble(t, "after Close", afterClose)
}

// usedOptions has every option that could need a goroutine.
func usedOptions() cache.Options[string, *payload] {
	return cache.Options[string, *payload]{
		Name: "lifecycle", Limit: 100, Idle: time.Hour, OnRemove: func(cache.Event[string, *payload]) {},
	}
}

// payload is so big that the allocator does not combine it with other values, which would
// delay its collection.
type payload struct{ _ [64]int }

func uses() map[string]func(c *cache.Cache[string, *payload]) {
	type C = *cache.Cache[string, *payload]
	return map[string]func(c C){
		"nothing": func(C) {},
		"short TTL": func(c C) {
			c.SetWithExpire("k", new(payload), 5*time.Millisecond)
			c.SetWithExpire("l", new(payload), time.Hour)
		},
		"callback": func(c C) { c.Set("k", new(payload)); c.Del("k") },
		"load": func(c C) {
			_, _ = c.TakeCtx(context.Background(), "k", func(context.Context) (*payload, error) { return new(payload), nil })
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			_, _ = c.TakeCtx(ctx, "l", func(context.Context) (*payload, error) { return new(payload), nil })
		},
		"everything": func(c C) {
			for i := range 1000 {
				c.SetWithExpire(fmt.Sprint(i), new(payload), time.Duration(i)*time.Minute)
			}
			c.Clear()
			c.SetWithExpire("k", new(payload), time.Minute)
			c.Touch("k", time.Hour)
		},
	}
}

// collected checks that a used cache is collected. With OnRemove no entry may wait to expire,
// as it would be reported first.
func collected(t *testing.T, onRemove bool, use func(c *cache.Cache[string, *payload])) {
	running := goleak.IgnoreCurrent()
	var freed atomic.Int32
	build := func() weak.Pointer[cache.Cache[string, *payload]] {
		var c *cache.Cache[string, *payload]
		o := usedOptions()
		o.OnRemove = nil
		ttl := time.Hour
		if onRemove {
			o.Idle, ttl = 0, 0
			o.OnRemove = func(cache.Event[string, *payload]) { _ = c } // as callbacks do
		}
		c = New(t, o)
		use(c)
		p := new(payload)
		runtime.AddCleanup(p, func(*atomic.Int32) { freed.Add(1) }, &freed)
		c.SetWithExpire("payload", p, ttl)
		return weak.Make(c)
	}
	w := build()
	if !settle.Collected(func() bool { return w.Value() == nil && freed.Load() == 1 }) {
		t.Errorf("not collected: cache %t, value %t", w.Value() == nil, freed.Load() == 1)
	}
	settle.VerifyNone(t, running)
}

// Catches: Close that abandons loads, stores, counts or reports their results, or fails their callers;
// or that waits for loads that began after it.
func closeWaitsForLoads(t *testing.T, o cache.Options[string, int]) {
	for _, take := range Takers() {
		c := New(t, o)
		gate := make(chan struct{})
		loader := Start(func() (int, error) { return take.Take(c, "k", Gated(gate, 1)) })
		waiter := Start(func() (int, error) { return take.Take(c, "k", FailFetch) })
		ctx, cancel := context.WithTimeout(context.Background(), time.Second) // fake time
		if err := c.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: Close = %v, want its deadline", take.Name, err)
		}
		cancel()
		closing := Start(func() (int, error) { return 0, c.Close(context.Background()) })
		if !closing.Running() {
			t.Errorf("%s: Close returned while a load runs", take.Name)
		}
		later := make(chan struct{})
		own := Start(func() (int, error) { return take.Take(c, "k", Gated(later, 2)) })
		close(gate)
		loader.Want(t, 1, nil)
		waiter.Want(t, 1, nil)
		closing.Want(t, 0, nil)
		close(later)
		own.Want(t, 2, nil)
		WantMiss(t, c, "k")
		if s := c.Stats(); s.Sets != 0 || s.Entries != 0 {
			t.Errorf("%s: %d sets, %d entries after Close, want none", take.Name, s.Sets, s.Entries)
		}
	}
}

// Catches: Close that returns while a fetch still uses what the program is about to close.
func closeWaitsForAbandoned(t *testing.T) {
	c := New(t, cache.Options[string, int]{})
	gate := make(chan struct{})
	call, leave := takeCtx(c, func(context.Context) (int, error) { <-gate; return 1, nil })
	leave(ErrLeft)
	wantLeft(t, call, ErrLeft)
	closing := Start(func() (int, error) { return 0, c.Close(context.Background()) })
	if !closing.Running() {
		t.Error("Close returned while a load runs")
	}
	close(gate)
	closing.Want(t, 0, nil)
}

// Catches: a method that panics, hangs, stores or finds something after Close.
func afterClose(t *testing.T) {
	var rec Recorder[string, int]
	c := New(t, cache.Options[string, int]{Limit: 10, Expire: time.Minute, Idle: time.Second, OnRemove: rec.Add})
	c.Set("k", 1)
	MustClose(t, c)
	WantEvents(t, &rec, Event("k", 1, cache.Cleared))

	simple := New(t, cache.Options[string, int]{Limit: 10}) // whose Set has a shorter way
	MustClose(t, simple)
	for _, c := range []*cache.Cache[string, int]{c, simple} {
		for name, call := range methods(c, "k") {
			call()
			if _, ok := c.Peek("k"); ok || c.Len() != 0 {
				t.Errorf("%s stored: %d entries", name, c.Len())
			}
		}
	}
	if c.Touch("k", time.Hour) || c.Del("k") {
		t.Error("Touch or Del = true")
	}
	if v, loaded := c.GetOrSet("k", 3); v != 3 || loaded {
		t.Errorf("GetOrSet = %d, %t; want 3, false", v, loaded)
	}
	if v, ok := c.Compute("k", func(old int, found bool) (int, cache.Op) {
		if found {
			t.Errorf("Compute found %d", old)
		}
		return 4, cache.OpSet
	}); ok {
		t.Errorf("Compute = %d, true; want nothing present", v)
	}
	for round := range 2 {
		for _, take := range Takers() {
			v, err := take.Take(c, "k", func() (int, error) { return round, nil })
			if v != round || err != nil {
				t.Errorf("%s = %d, %v; want each call to fetch", take.Name, v, err)
			}
			if _, err := take.Take(c, "k", FailFetch); err != ErrFetch {
				t.Errorf("%s: error %v, want fetch's", take.Name, err)
			}
		}
	}
	if s := c.Stats(); s.Entries != 0 || s.Removals.Cleared != 1 {
		t.Errorf("entries, cleared = %d, %d; want 0, 1", s.Entries, s.Removals.Cleared)
	}
	time.Sleep(time.Hour)
	WantEvents(t, &rec)
	MustClose(t, c)
}
