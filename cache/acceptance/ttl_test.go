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
	type C = *cache.Cache[string, int]
	set := map[string]func(c C, key string){
		"Set":           func(c C, key string) { c.Set(key, 1) },
		"SetWithExpire": func(c C, key string) { c.SetWithExpire(key, 1, ttl) },
		"Touch":         func(c C, key string) { c.SetWithExpire(key, 1, 0); c.Touch(key, ttl) },
		"GetOrSet":      func(c C, key string) { c.GetOrSet(key, 1) },
		"Take":          func(c C, key string) { _, _ = c.Take(key, func() (int, error) { return 1, nil }) },
		"Compute": func(c C, key string) {
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
				return len(Collect(t, c))
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
		c.SetWithExpire("touched", 3, time.Minute)
		c.Touch("touched", math.MaxInt64)
		time.Sleep(time.Hour)
		WantHit(t, c, "default", 1)
		WantHit(t, c, "given", 2)
		WantHit(t, c, "touched", 3)
	})
}
