package acceptance

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// Promise 5: callbacks run exactly once for each removed value, with its cause,
// outside all locks, in order per key, at most Workers at once; they may call the
// cache; a panic is recovered, counted and reported; Close waits for them. When
// too many wait, callers that remove values wait too (a callback never does).
//
// The causes are cache.TestModel; "exactly once" under load is TestLedger; methods in callbacks of others,
// as Resize in one of Resize, are proof/pairs.
func TestPromise5Callbacks(t *testing.T) {
	t.Run("in order per key, many writers", orderOfManyWriters)
	Bubble(t, "panics and Goexit are reported", callbackPanics)
	Bubble(t, "panics are logged without OnPanic", callbackPanicLogged)

	for name, remove := range removers() {
		Bubble(t, "back-pressure on "+name, func(t *testing.T) { backPressure(t, remove) })
	}
	for name, remove := range massRemovers() {
		Bubble(t, "back-pressure within "+name, func(t *testing.T) { massRemoval(t, remove) })
	}
	Bubble(t, "Take in a callback of a load that waits for room", takeFromCallback)
	Bubble(t, "Close of another cache", closeFromCallback)
}

// Catches: events queued after the lock is released, so that writers overtake each other. The
// numbers of a key are drawn in Compute and so grow in the order in which they are stored.
func orderOfManyWriters(t *testing.T) {
	const keys = 10
	var drawn [keys]atomic.Int64
	var last [keys]int64
	c := New(t, cache.Options[int, int64]{Limit: keys - 2, Workers: 4, OnRemove: func(e cache.Event[int, int64]) {
		if e.Value <= last[e.Key] {
			t.Errorf("key %d: event of value %d (%v) after %d", e.Key, e.Value, e.Cause, last[e.Key])
		}
		last[e.Key] = e.Value
	}})
	rounds := Scaled(10_000)
	Together(8, func(g int) {
		for i := range rounds {
			key := (g*3 + i) % keys
			c.Compute(key, func(int64, bool) (int64, cache.Op) { return drawn[key].Add(1), cache.OpSet })
			switch i % 9 {
			case 0:
				c.Del(key)
			case 1:
				c.Touch(key, time.Microsecond)
			case 2:
				if i%900 == 2 {
					c.Clear()
				}
			}
		}
	})
	if MustClose(t, c); last == [keys]int64{} {
		t.Error("nothing was reported")
	}
}

// Catches: a panic or Goexit (t.FailNow) that kills the process or a worker, takes its queue or Close
// with it, breaks the order of its key, or goes unnoticed.
func callbackPanics(t *testing.T) {
	var reported []any // the calls of a key follow each other
	seen := 0
	c := New(t, cache.Options[string, int]{
		Workers: 2,
		OnRemove: func(e cache.Event[string, int]) {
			seen++
			switch e.Value % 4 {
			case 1:
				panic(e.Value)
			case 3:
				runtime.Goexit()
			}
		},
		OnPanic: func(v any, stack []byte) {
			reported = append(reported, v)
			if !bytes.Contains(stack, []byte("callbackPanics")) {
				t.Errorf("the stack does not lead to the callback:\n%s", stack)
			}
		},
	})
	for i := range 100 {
		c.Set("k", i)
	}
	c.Clear()
	MustClose(t, c)
	if n := c.Stats().Callbacks.Panics; seen != 100 || len(reported) != 50 || n != 50 {
		t.Errorf("%d callbacks, %d panics reported, %d counted; want 100, 50, 50", seen, len(reported), n)
	}
	for i, v := range reported {
		if _, exited := v.(error); v != 2*i+1 && !(exited && i%2 == 1) {
			t.Fatalf("panics reported: %v", reported)
		}
	}
}

// Catches: a panic that is recovered and not reported.
func callbackPanicLogged(t *testing.T) {
	var logged bytes.Buffer // Close waits for who writes to it
	old, w, flags := slog.Default(), log.Writer(), log.Flags()
	slog.SetDefault(slog.New(slog.NewTextHandler(&logged, nil)))
	defer func() {
		slog.SetDefault(old)
		log.SetOutput(w)
		log.SetFlags(flags)
	}()
	c := New(t, cache.Options[string, int]{Name: "users", OnRemove: func(cache.Event[string, int]) { panic("boom 4711") }})
	c.Set("k", 1)
	c.Del("k")
	MustClose(t, c)
	if got := logged.String(); !strings.Contains(got, "boom 4711") {
		t.Errorf("the log does not tell of the panic: %q", got)
	}
}

// removers returns the ways to remove; call i removes at least one value.
func removers() map[string]func(c *cache.Cache[string, int], i int) {
	type C = *cache.Cache[string, int]
	return map[string]func(c C, i int){
		"Set of the same key": func(c C, i int) { c.Set("k", i) },
		"Set of another key":  func(c C, i int) { c.Set(fmt.Sprint(i), i) },
		"Take":                func(c C, i int) { _, _ = c.Take(fmt.Sprint(i), func() (int, error) { return i, nil }) },
		"GetOrSet":            func(c C, i int) { c.GetOrSet(fmt.Sprint(i), i) },
		"Del":                 func(c C, i int) { c.GetOrSet("k", i); c.Del("k") },
		"Clear":               func(c C, i int) { c.GetOrSet("k", i); c.Clear() },
		"negative Touch":      func(c C, i int) { c.GetOrSet("k", i); c.Touch("k", -1) },
		"negative expire":     func(c C, i int) { c.GetOrSet("k", i); c.SetWithExpire("k", i, -1) },
		"Compute with OpSet":  func(c C, i int) { c.Compute("k", func(int, bool) (int, cache.Op) { return i, cache.OpSet }) },
		"Compute with OpDelete": func(c C, i int) {
			c.GetOrSet("k", i)
			c.Compute("k", func(int, bool) (int, cache.Op) { return i, cache.OpDelete })
		},
		"Resize": func(c C, i int) { c.GetOrSet("k", i); c.GetOrSet("l", i); _ = c.Resize(1); _ = c.Resize(2) },
	}
}

// Catches: a way to remove that queues without bound, or that gives up and drops the report; Workers
// ignored, in either direction.
func backPressure(t *testing.T, remove func(c *cache.Cache[string, int], i int)) {
	gate := make(chan struct{})
	var began, reported atomic.Int64
	c := New(t, cache.Options[string, int]{Limit: 2, Workers: 2, OnRemove: func(cache.Event[string, int]) {
		began.Add(1)
		<-gate
		reported.Add(1)
	}})
	for _, key := range Numbered("first", 2) {
		c.Set(key, 0)
		c.Del(key)
	}
	producer := RemoveUntilBlocked(t, func(i int) { remove(c, i) })
	if n := began.Load(); n != 2 {
		t.Errorf("%d callbacks run at once, want 2", n)
	}
	blockedAt := producer.Removals.Load()
	time.Sleep(time.Hour)
	if n := producer.Removals.Load(); n != blockedAt {
		t.Errorf("the producer went on from %d to %d removals although no callback ended", blockedAt, n)
	}
	close(gate)
	<-producer.Done
	MustClose(t, c)
	removed := int64(c.Stats().Sets) - int64(c.Len())
	if reported.Load() != removed || removed < blockedAt {
		t.Errorf("%d reported, %d removed, producer blocked at %d: some were lost", reported.Load(), removed, blockedAt)
	}
}

// massRemovers returns calls that remove all of 100000 entries but one.
func massRemovers() map[string]func(c *cache.Cache[string, int]) {
	type C = *cache.Cache[string, int]
	return map[string]func(c C){
		"Clear":  func(c C) { c.Clear(); c.Set("last", 1) },
		"Resize": func(c C) { _ = c.Resize(1) },
		"expiry": func(c C) { time.Sleep(2 * time.Minute); c.Set("last", 1) },
	}
}

// Catches: a bound that is checked once per call, so that one call queues everything.
func massRemoval(t *testing.T, remove func(c *cache.Cache[string, int])) {
	const entries = 100_000
	gate := make(chan struct{})
	var reported atomic.Int64
	c := New(t, cache.Options[string, int]{Expire: time.Minute, Workers: 1, OnRemove: func(cache.Event[string, int]) {
		<-gate
		reported.Add(1)
	}})
	for i, key := range Numbered("k", entries) {
		c.Set(key, i)
	}
	Start(func() (int, error) { remove(c); return 0, nil })
	time.Sleep(3 * time.Minute)
	if queued := c.Stats().Callbacks.Queued; queued > 2*backlogBound+1000 {
		t.Errorf("%d events queued behind a blocked callback, want about %d", queued, backlogBound)
	}
	close(gate)
	time.Sleep(time.Minute)
	MustClose(t, c)
	if n := reported.Load(); n < entries {
		t.Errorf("%d values reported, want %d", n, entries)
	}
}

// Catches: a load that must make room and waits for the backlog before it has stored its value,
// while the callback that would shorten the backlog waits for that load.
func takeFromCallback(t *testing.T) {
	const most = 1 << 20
	gate := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	var c *cache.Cache[string, int]
	var begun atomic.Bool
	c = New(t, cache.Options[string, int]{
		MaxWeight: most, Weigh: func(_ string, v int) uint32 { return uint32(v) }, Workers: 1,
		OnRemove: func(cache.Event[string, int]) {
			<-gate
			if !begun.Swap(true) {
				_, _ = c.TakeCtx(ctx, "k", func(context.Context) (int, error) { return 1, nil })
			}
		},
	})
	for _, k := range Numbered("quarter", 4) { // the cache is full
		c.Set(k, most/4)
	}
	fetching := make(chan struct{})
	loader := Start(func() (int, error) {
		return c.Take("k", func() (int, error) { <-fetching; return most, nil })
	})
	producer := RemoveUntilBlocked(t, func(int) { c.Set("zero", 0) })
	close(fetching)
	synctest.Wait() // the load has evicted the rest and waits for the backlog
	close(gate)
	synctest.Wait()
	if loader.Running() {
		t.Error("deadlock: the load waits for the callbacks, and a callback for the load")
	}
	cancel()
	loader.Want(t, most, nil)
	<-producer.Done
	MustClose(t, c)
}

// Catches: a Close in a callback that waits, so that two caches that close each other would hang;
// one that does not close, or loses the callbacks that it does not wait for.
func closeFromCallback(t *testing.T) {
	var reported atomic.Int32
	inner := New(t, cache.Options[string, int]{OnRemove: func(cache.Event[string, int]) { reported.Add(1) }})
	inner.Set("k", 1)
	outer := New(t, cache.Options[string, *cache.Cache[string, int]]{
		OnRemove: func(e cache.Event[string, *cache.Cache[string, int]]) {
			if err := e.Value.Close(context.Background()); err == nil {
				t.Error("Close in a callback = nil: it cannot have waited")
			}
		},
	})
	outer.Set("inner", inner)
	outer.Del("inner")
	MustClose(t, outer)
	WantLen(t, inner, 0)
	MustClose(t, inner)
	if n := reported.Load(); n != 1 {
		t.Errorf("%d callbacks of the inner cache, want 1", n)
	}
}
