package acceptance

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

// A hundred thousand goroutines take one key at once: one of them fetches. Then they call
// every method at once, and the cache is closed meanwhile. All of them return, each stored
// value is reported once, and no goroutine is left.
//
// Catches: several fetches, work or memory that grows with the square of the callers, lost
// wake-ups, a Close that waits for later callers.
func TestManyGoroutines(t *testing.T) {
	n := Scaled(100_000)
	if settle.UnderRace() {
		n = min(n, 6000) // it ends the process at 8128
	}
	var fetches, left, ended, reported atomic.Int64
	c := New(t, cache.Options[int, int]{
		Limit: 1000, Expire: time.Hour, Workers: 4,
		OnRemove: func(cache.Event[int, int]) { reported.Add(1) },
	})
	Together(n, func(g int) {
		v, err := c.Take(-1, func() (int, error) {
			fetches.Add(1)
			for c.Stats().Loads.Waiters < uint64(n-1) && fetches.Load() == 1 {
				time.Sleep(time.Millisecond)
			}
			return 7, nil
		})
		if v != 7 || err != nil {
			t.Errorf("Take = %d, %v; want 7", v, err)
		}
	})
	if fetches.Load() != 1 {
		t.Fatalf("%d fetches for %d callers at once, want 1", fetches.Load(), n)
	}

	ready := make(chan struct{})
	var waiting sync.WaitGroup
	waiting.Add(n)
	half, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		Together(n, func(g int) {
			waiting.Done()
			<-ready
			key := g % 1500
			methods(c, key)[faultOps[g%len(faultOps)]]()
			methods(c, -1)[faultOps[g/len(faultOps)%len(faultOps)]]()
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if g%2 == 0 {
				go cancel()
			}
			_, err := c.TakeCtx(ctx, g%100, func(ctx context.Context) (int, error) {
				runtime.Gosched()
				return 1, nil
			})
			if errors.Is(err, context.Canceled) {
				left.Add(1)
			} else if err != nil {
				t.Errorf("TakeCtx: %v", err)
			}
			if ended.Add(1) == int64(n/2) {
				close(half)
			}
		})
	}()
	waiting.Wait()
	close(ready)
	<-half
	MustClose(t, c)
	<-done
	MustClose(t, c)
	WantLen(t, c, 0)
	if s := c.Stats(); reported.Load() != int64(s.Sets) || s.Callbacks.Queued != 0 {
		t.Errorf("%d values stored and removed, %d reported, %d queued", s.Sets, reported.Load(), s.Callbacks.Queued)
	}
	t.Logf("%d goroutines, of which %d left a load; %d values", n, left.Load(), reported.Load())
}

// faultOps are the methods that are called under load; Resize and Close have tests
// of their own.
var faultOps = func() []string {
	var names []string
	for name := range methods[int](nil, 0) {
		if name != "Resize" && name != "Close" && name != "Stats" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}()

// A cache with room for one entry, by Limit or by MaxWeight, keeps all its promises while
// every method is called at once.
//
// Catches: an entry that must make room for itself, loops that look for a victim
// where there is none, a limit that is passed between two steps.
func TestLimitOfOneUnderLoad(t *testing.T) {
	one := func(int, int) uint32 { return 1 }
	for name, o := range map[string]cache.Options[int, int]{
		"limit":             {Limit: 1},
		"limit and TTL":     {Limit: 1, Expire: time.Millisecond, Workers: 1},
		"limit and idle":    {Limit: 1, Idle: time.Millisecond, Ages: true, WhatIf: true, HotKeys: 1},
		"weight":            {MaxWeight: 1, Weigh: one},
		"weight, half zero": {MaxWeight: 1, Weigh: func(_, v int) uint32 { return uint32(v % 2) }, Expire: time.Millisecond},
		"weight, too heavy": {MaxWeight: 1, Weigh: func(_, v int) uint32 { return uint32(v % 3) }},
	} {
		t.Run(name, func(t *testing.T) {
			l := NewLedger(t, o, false)
			l.Keys = 5
			stop := Meanwhile(t, func() {
				s, n := l.Cache.Stats(), l.Cache.Len()
				if o.Limit > 0 && max(s.Entries, n) > 1 || s.Weight > 1 {
					t.Errorf("%d entries, Len %d, weight %d", s.Entries, n, s.Weight)
				}
			})
			Together(8, l.Storm)
			stop()
			l.Audit()
		})
	}
}

// From the return of Resize until the next Resize there are no more entries than the new
// limit, while every other method is called; and no value is lost.
//
// Catches: a surplus that is left because others stored meanwhile, entries that
// shards limited at different times count twice or not at all, room that nobody has any more, an
// evicted value that is not reported.
func TestResizeUnderLoad(t *testing.T) {
	for name, o := range map[string]cache.Options[int, int]{
		"from none": {},
		"from one":  {Limit: 1, Expire: 5 * time.Millisecond},
		"watched":   {Limit: 20_000, Ages: true, WhatIf: true, HotKeys: 10},
	} {
		t.Run(name, func(t *testing.T) {
			l := NewLedger(t, o, false)
			rng := rand.New(rand.NewPCG(5, 6))
			stop := Meanwhile(t, func() {
				limit := []int{0, 1, 2, 50, 399, 10_000}[rng.IntN(6)]
				MustResize(t, l.Cache, limit)
				for range 20 {
					if n := l.Cache.Len(); limit > 0 && n > limit {
						t.Errorf("%d entries after Resize(%d)", n, limit)
					}
				}
			})
			Together(8, l.Storm)
			stop()
			MustResize(t, l.Cache, 3)
			if n := len(Collect(t, l.Cache)); n > 3 {
				t.Errorf("All yields %d entries after Resize(3)", n)
			}
			for key := range 100 {
				v := l.new()
				l.Cache.SetWithExpire(key, v, 0) // for ever: a busy machine takes long for three Sets
				l.mark(v, stored)
			}
			if n := l.Cache.Len(); n != 3 {
				t.Errorf("a limit of 3 has room for %d", n)
			}
			l.Audit()
		})
	}
}

// When a Close returns nil, all earlier loads and callbacks have ended and no callback begins
// any more, although others go on using and closing the cache.
//
// Catches: a callback or a load that runs on after Close, an entry or an event that
// slips in behind it, closers that wait for each other.
func TestCloseUnderLoad(t *testing.T) {
	for name, o := range map[string]cache.Options[int, int]{
		"plain":        {},
		"small":        {Limit: 3, Workers: 1},
		"many shards":  {Limit: 20_000, Idle: time.Millisecond},
		"expires":      {Limit: 300, Expire: time.Millisecond, Workers: 2},
		"weighs":       {MaxWeight: 100, Weigh: func(int, int) uint32 { return 3 }},
		"with extras":  {Limit: 100, HotKeys: 5, Ages: true, WhatIf: true},
		"backlog full": {Limit: 2, Workers: 1},
	} {
		t.Run(name, func(t *testing.T) {
			for range Scaled(15) {
				closeUnderLoad(t, o, name == "backlog full")
			}
		})
	}
}

func closeUnderLoad(t *testing.T, o cache.Options[int, int], slow bool) {
	const goroutines, closers = 8, 3
	var asked, closed atomic.Bool
	var callbacks, loads, reported atomic.Int64
	o.OnRemove = func(cache.Event[int, int]) {
		callbacks.Add(1)
		if closed.Load() {
			t.Error("a callback began after Close had returned")
		}
		if reported.Add(1); slow {
			time.Sleep(time.Microsecond)
		}
		callbacks.Add(-1)
	}
	c := New(t, o)
	fetch := func() (int, error) {
		if !asked.Load() { // so Close is to wait for it
			loads.Add(1)
			defer loads.Add(-1)
		}
		runtime.Gosched()
		return 1, nil
	}
	Together(goroutines+closers, func(g int) {
		for i := range 300 {
			key := (g*31 + i) % 40
			switch {
			case g >= closers:
				_, _ = c.Take(key, fetch)
				methods(c, key)[faultOps[(g+i)%len(faultOps)]]()
			case i < 100+g:
				c.Set(key, i)
			default:
				asked.Store(true)
				if err := c.Close(context.Background()); err != nil {
					t.Errorf("Close: %v", err)
				}
				closed.Store(true)
				if n, m := loads.Load(), callbacks.Load(); n != 0 || m != 0 {
					t.Errorf("%d loads and %d callbacks run when Close has returned", n, m)
				}
				if n := c.Len(); n != 0 {
					t.Errorf("%d entries when Close has returned", n)
				}
				return
			}
		}
	})
	if stored := c.Stats().Sets; reported.Load() != int64(stored) {
		t.Errorf("%d values stored and removed, %d reported", stored, reported.Load())
	}
	if n := len(Collect(t, c)); n != 0 {
		t.Errorf("All yields %d entries of a closed cache", n)
	}
}
