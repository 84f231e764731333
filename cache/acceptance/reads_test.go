package acceptance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// Promise 1: Get never returns a value past its deadline, whatever the wheel does.
// The wheel only reclaims and reports, within one tick.
//
// An entry set at t with a TTL of d is readable while now < t+d and never later.
func TestPromise1ExactReads(t *testing.T) {
	// Catches: < for <=, TTLs rounded to ticks or milliseconds, a coarse clock used near the deadline.
	for _, phase := range []time.Duration{0, 1, 37 * time.Millisecond, 100*time.Millisecond - 1} {
		Bubble(t, fmt.Sprintf("at the deadline, phase %v", phase), func(t *testing.T) { exactDeadlines(t, phase) })
	}

	// Catches: one method with a deadline check of its own that is missing or off by one.
	for name, found := range presenceChecks() {
		Bubble(t, "by "+name, func(t *testing.T) {
			c := New(t, cache.Options[string, int]{})
			c.SetWithExpire("k", 1, time.Minute)
			time.Sleep(time.Minute - time.Nanosecond)
			if !found(c) {
				t.Error("not found a nanosecond before the deadline")
			}
			c.SetWithExpire("k", 1, time.Minute)
			time.Sleep(time.Minute)
			if found(c) {
				t.Error("found at the deadline")
			}
		})
	}

	Bubble(t, "a new TTL moves the deadline", movedDeadlines)
	Bubble(t, "a blocked expiry driver", blockedDriver)
	Bubble(t, "reclaimed and reported within a tick", reclaimedInTime)
	Bubble(t, "refreshed at any phase of the wheel", refreshedPhases)
	t.Run("on the real clock", exactOnTheRealClock)
}

func exactDeadlines(t *testing.T, phase time.Duration) {
	const ms = time.Millisecond
	ttls := []time.Duration{
		1, time.Microsecond, 500 * time.Microsecond, ms - 1, ms, ms + 1, 10*ms - 1, 10 * ms, 10*ms + 1,
		100*ms - 1, 100 * ms, 100*ms + 1, time.Second - 1, time.Second, time.Second + 1,
		25*time.Second + 600*ms, time.Minute, 5 * time.Minute, 5*time.Minute + 1, 10 * time.Minute,
	}
	c := New(t, cache.Options[string, int]{})
	time.Sleep(phase)
	start := time.Now()
	for i, ttl := range ttls {
		c.SetWithExpire(ttl.String(), i, ttl)
	}
	for i, ttl := range ttls {
		time.Sleep(time.Until(start.Add(ttl - 1)))
		for j, later := range ttls[i:] {
			WantHit(t, c, later.String(), i+j)
		}
		time.Sleep(time.Nanosecond)
		WantMiss(t, c, ttl.String())
	}
}

// presenceChecks returns the ways to ask whether "k" is there. Each asks once.
func presenceChecks() map[string]func(c *cache.Cache[string, int]) bool {
	return map[string]func(c *cache.Cache[string, int]) bool{
		"Get":  func(c *cache.Cache[string, int]) bool { _, ok := c.Get("k"); return ok },
		"Peek": func(c *cache.Cache[string, int]) bool { _, ok := c.Peek("k"); return ok },
		"Take": func(c *cache.Cache[string, int]) bool { _, err := c.Take("k", FailFetch); return err == nil },
		"GetOrSet": func(c *cache.Cache[string, int]) bool {
			_, loaded := c.GetOrSet("k", 2)
			return loaded
		},
		"Touch":          func(c *cache.Cache[string, int]) bool { return c.Touch("k", time.Hour) },
		"Touch negative": func(c *cache.Cache[string, int]) bool { return c.Touch("k", -1) },
		"Del":            func(c *cache.Cache[string, int]) bool { return c.Del("k") },
		"Compute": func(c *cache.Cache[string, int]) (there bool) {
			c.Compute("k", func(old int, found bool) (int, cache.Op) {
				there = found
				return old, cache.OpKeep
			})
			return there
		},
		"All": func(c *cache.Cache[string, int]) bool {
			for range c.All() {
				return true
			}
			return false
		},
	}
}

// Catches: a new deadline, earlier or later, that only the wheel or only the entry takes over.
func movedDeadlines(t *testing.T) {
	c := New(t, cache.Options[string, int]{Expire: time.Minute})
	moves := map[string]func(ttl time.Duration){
		"SetWithExpire": func(ttl time.Duration) { c.SetWithExpire("k", 1, ttl) },
		"Touch": func(ttl time.Duration) {
			if !c.Touch("k", ttl) {
				t.Error("Touch of a live key = false")
			}
		},
	}
	for name, move := range moves {
		for _, from := range []time.Duration{0, time.Second, time.Minute, 10 * time.Minute} {
			for _, to := range []time.Duration{time.Millisecond, time.Second, time.Minute, 10 * time.Minute} {
				c.SetWithExpire("k", 1, from)
				time.Sleep(300 * time.Millisecond)
				move(to)
				time.Sleep(to - 1)
				if _, ok := c.Get("k"); !ok {
					t.Errorf("%s from %v to %v: gone too early", name, from, to)
				}
				time.Sleep(time.Nanosecond)
				if _, ok := c.Get("k"); ok {
					t.Errorf("%s from %v to %v: still there", name, from, to)
				}
			}
		}
		c.SetWithExpire("k", 1, time.Second)
		move(0)
		time.Sleep(time.Hour)
		WantHit(t, c, "k", 1) // 0 = never
	}
	c.SetWithExpire("k", 1, time.Hour)
	c.Set("k", 2) // the default again
	time.Sleep(time.Minute)
	WantMiss(t, c, "k")
}

// Catches: reads that rely on the driver, which here waits for a blocked callback as the
// backlog of callbacks is over its bound; and reads that wait too.
func blockedDriver(t *testing.T) {
	gate := make(chan struct{})
	c := New(t, cache.Options[string, int]{Workers: 1, OnRemove: func(cache.Event[string, int]) { <-gate }})
	c.Set("k", 1)
	c.Touch("k", time.Minute)
	for i := range 1000 {
		c.SetWithExpire(fmt.Sprint("dies early", i), i, time.Duration(i)*10*time.Millisecond+1)
	}
	producer := RemoveUntilBlocked(t, func(i int) { c.Set("busy", i) })
	time.Sleep(time.Minute - 1)
	WantHit(t, c, "k", 1)
	for name, found := range presenceChecks() {
		if slices.Contains([]string{"Get", "Peek", "Take"}, name) && !found(c) {
			t.Errorf("%s: not found a nanosecond before the deadline", name)
		}
	}
	time.Sleep(time.Nanosecond)
	WantMiss(t, c, "k")
	if _, ok := c.Peek("k"); ok {
		t.Error("Peek finds it at the deadline")
	}
	close(gate)
	<-producer.Done
}

// Catches: a driver that stops, waits for traffic, or drifts; a report before the deadline.
func reclaimedInTime(t *testing.T) {
	for _, ttl := range []time.Duration{
		time.Millisecond, 15 * time.Millisecond, 100 * time.Millisecond, time.Second,
		10 * time.Second, 5 * time.Minute, 20 * time.Minute,
	} {
		bound := MaxTick
		if ttl <= time.Second {
			bound = 100 * time.Millisecond
		}
		var deadline time.Time
		var reports atomic.Int32
		c := New(t, cache.Options[string, int]{Expire: ttl, OnRemove: func(e cache.Event[string, int]) {
			reports.Add(1)
			if late := time.Since(deadline); late < 0 || late > bound || e.Cause != cache.Expired { // fake time
				t.Errorf("TTL %v: reported as %v, %v after the deadline, want Expired within %v", ttl, e.Cause, late, bound)
			}
		}})
		for round := range 3 { // the driver must start again after it had nothing to do
			deadline = time.Now().Add(ttl)
			c.Set("k", round)
			time.Sleep(ttl + bound)
			synctest.Wait()
			WantLen(t, c, 0)
			if got := int(reports.Load()); got != round+1 {
				t.Errorf("TTL %v: %d reports after round %d", ttl, got, round)
			}
			time.Sleep(17 * time.Minute)
		}
	}
}

// Catches: moves that compare slot numbers instead of distances (one revolution early or late),
// which a cursor at rest or short TTLs do not show.
func refreshedPhases(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const keys = 400
	deadline := make([]time.Time, keys)
	reports := make([]atomic.Int32, keys)
	c := New(t, cache.Options[int, int]{OnRemove: func(e cache.Event[int, int]) {
		if e.Cause != cache.Expired {
			return
		}
		reports[e.Key].Add(1)
		if late := time.Since(deadline[e.Key]); late < 0 || late > MaxTick { // fake time
			t.Errorf("key %d: reported %v after its deadline", e.Key, late)
		}
	}})
	set := func(k int) {
		ttl := time.Duration(1 + rng.Int64N(int64(15*time.Minute)))
		deadline[k] = time.Now().Add(ttl)
		if rng.IntN(2) == 0 || !c.Touch(k, ttl) {
			c.SetWithExpire(k, k, ttl)
		}
	}
	for k := range keys {
		set(k)
	}
	for range 3 {
		for k := range keys {
			time.Sleep(time.Duration(rng.Int64N(int64(time.Second))))
			if time.Now().Before(deadline[k]) {
				set(k)
			}
		}
	}
	time.Sleep(16 * time.Minute)
	for k := range keys {
		if n := reports[k].Load(); n != 1 {
			t.Errorf("key %d: %d reports of expiry, want 1", k, n)
		}
	}
	WantLen(t, c, 0)
}

// Catches: clock arithmetic that only fake time hides (a cached clock that lags behind the
// threads, torn reads of a deadline).
func exactOnTheRealClock(t *testing.T) {
	c := New(t, cache.Options[int, int]{})
	Together(4, func(g int) {
		for i := range Scaled(400) {
			ttl := time.Duration(1+i%40) * 100 * time.Microsecond
			before := time.Now()
			c.SetWithExpire(g, i, ttl)
			after := time.Now()
			for {
				asked := time.Now()
				v, ok := c.Get(g)
				if ok && (v != i || asked.Sub(after) >= ttl) {
					t.Errorf("TTL %v: Get = %d, want %d; %v after Set", ttl, v, i, asked.Sub(after))
				}
				if !ok {
					if lived := time.Since(before); lived < ttl {
						t.Errorf("TTL %v: gone after %v", ttl, lived)
					}
					break
				}
			}
		}
	})
}
