package acceptance

import (
	"math"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// TestJitter: every TTL is spread by ± the fraction, on every path.
func TestJitter(t *testing.T) {
	const ttl, spread = 100 * time.Second, 0.1
	set := map[string]func(c *cache.Cache[string, int], key string){
		"Set":           func(c *cache.Cache[string, int], key string) { c.Set(key, 1) },
		"SetWithExpire": func(c *cache.Cache[string, int], key string) { c.SetWithExpire(key, 1, ttl) },
		"Touch": func(c *cache.Cache[string, int], key string) {
			c.SetWithExpire(key, 1, 0)
			c.Touch(key, ttl)
		},
		"GetOrSet": func(c *cache.Cache[string, int], key string) { c.GetOrSet(key, 1) },
		"Take": func(c *cache.Cache[string, int], key string) {
			_, _ = c.Take(key, func() (int, error) { return 1, nil })
		},
		"Compute": func(c *cache.Cache[string, int], key string) {
			c.Compute(key, func(int, bool) (int, cache.Op) { return 1, cache.OpSet })
		},
	}
	for name, set := range set {
		// Catches: a path without jitter; a spread that is one-sided, wider than asked, or none.
		Bubble(t, name, func(t *testing.T) {
			c := New(t, cache.Options[string, int]{Expire: ttl, Jitter: spread})
			keys := Numbered("k", 1000)
			for _, k := range keys {
				set(c, k)
			}
			start := time.Now()
			at := func(d time.Duration) int {
				time.Sleep(time.Until(start.Add(d)))
				return CountLive(c, keys)
			}
			if n := at(90*time.Second - time.Nanosecond); n != len(keys) {
				t.Errorf("before %v: %d of %d left, want all", 90*time.Second, n, len(keys))
			}
			early, middle, late := at(95*time.Second), at(100*time.Second), at(105*time.Second)
			if early <= middle || middle <= late || middle < 200 || middle > 800 {
				t.Errorf("left at 95, 100 and 105 s: %d, %d, %d of %d: not spread", early, middle, late, len(keys))
			}
			if n := at(110*time.Second + time.Microsecond); n != 0 {
				t.Errorf("after %v: %d left, want none", 110*time.Second, n)
			}
		})
	}

	// Catches: an overflow of deadline or jitter arithmetic, which makes "for ever" expire at once.
	Bubble(t, "longest", func(t *testing.T) {
		c := New(t, cache.Options[string, int]{Expire: math.MaxInt64, Jitter: 0.5})
		c.Set("default", 1)
		c.SetWithExpire("given", 2, math.MaxInt64)
		time.Sleep(time.Hour)
		WantHit(t, c, "default", 1)
		WantHit(t, c, "given", 2)
	})
}

// TestIdle: an entry expires when it is not read for so long, and no later than by
// its TTL.
func TestIdle(t *testing.T) {
	const idle = 10 * time.Second
	idleCache := func(t *testing.T, o cache.Options[string, int]) *cache.Cache[string, int] {
		o.Idle = idle
		return New(t, o)
	}

	// Catches: idle expiry that is missing, early, or late.
	Bubble(t, "unread", func(t *testing.T) {
		c := idleCache(t, cache.Options[string, int]{})
		c.Set("k", 1)
		time.Sleep(idle - time.Nanosecond)
		if _, ok := c.Peek("k"); !ok {
			t.Error("gone before its idle time was over")
		}
		time.Sleep(time.Nanosecond)
		WantMiss(t, c, "k")
	})

	reads := map[string]func(c *cache.Cache[string, int]) bool{
		"Get": func(c *cache.Cache[string, int]) bool { _, ok := c.Get("k"); return ok },
		"Take": func(c *cache.Cache[string, int]) bool {
			v, err := c.Take("k", FailFetch)
			return err == nil && v == 1
		},
		"GetOrSet": func(c *cache.Cache[string, int]) bool {
			_, loaded := c.GetOrSet("k", 2)
			return loaded
		},
	}
	for name, read := range reads {
		// Catches: a read that does not restart the idle time, or restarts it from a stale clock.
		Bubble(t, name+" keeps alive", func(t *testing.T) {
			c := idleCache(t, cache.Options[string, int]{})
			c.Set("k", 1)
			for i := range 20 {
				time.Sleep(idle - time.Nanosecond)
				if !read(c) {
					t.Fatalf("read %d: gone although read every %v", i, idle-time.Nanosecond)
				}
			}
			time.Sleep(idle)
			WantMiss(t, c, "k")
		})
	}

	// Catches: a read far from the deadline that takes the time from a clock which stands still between
	// ticks.
	Bubble(t, "read at any time", func(t *testing.T) {
		const idle = 5 * time.Minute
		c := New(t, cache.Options[string, int]{Idle: idle})
		c.Set("k", 1)
		for i := range 50 {
			time.Sleep(time.Duration(i) * 777_777_777)
			WantHit(t, c, "k", 1)
			time.Sleep(idle - time.Nanosecond)
			WantHit(t, c, "k", 1)
		}
		time.Sleep(3*time.Second + 333_333_333)
		WantHit(t, c, "k", 1)
		time.Sleep(idle)
		WantMiss(t, c, "k")
	})

	// Catches: Peek counting as a read.
	Bubble(t, "Peek does not keep alive", func(t *testing.T) {
		c := idleCache(t, cache.Options[string, int]{})
		c.Set("k", 1)
		for range 9 {
			time.Sleep(idle / 10)
			if _, ok := c.Peek("k"); !ok {
				t.Fatal("gone before its idle time was over")
			}
		}
		time.Sleep(idle / 10)
		if _, ok := c.Peek("k"); ok {
			t.Error("Peek kept the entry alive")
		}
	})

	// Catches: reads that push an entry past its absolute TTL.
	Bubble(t, "the TTL still caps", func(t *testing.T) {
		c := idleCache(t, cache.Options[string, int]{Expire: 3*idle + time.Second})
		c.Set("k", 1)
		for range 31 {
			time.Sleep(time.Second - time.Nanosecond)
			if _, ok := c.Get("k"); !ok {
				t.Fatal("gone before its TTL although read all the time")
			}
			time.Sleep(time.Nanosecond)
		}
		WantMiss(t, c, "k")
	})

	// Catches: an idle entry that the driver drops early, or never reclaims and reports.
	Bubble(t, "reclaimed and reported once", func(t *testing.T) {
		var rec Recorder[string, int]
		c := idleCache(t, cache.Options[string, int]{OnRemove: rec.Add})
		c.Set("read", 1)
		c.Set("unread", 2)
		time.Sleep(idle / 2)
		WantHit(t, c, "read", 1)
		time.Sleep(idle/2 + MaxTick)
		WantEvents(t, &rec, Event("unread", 2, cache.Expired))
		time.Sleep(idle)
		WantEvents(t, &rec, Event("read", 1, cache.Expired))
		WantLen(t, c, 0)
	})
}
