package cache_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// TestExpire checks that a value that Expire has made old is loaded anew, stands in while that fails,
// for as long as Grace from then on, and leaves as Expired.
func TestExpire(t *testing.T) {
	agedTest(t, 10*time.Second, func(t *testing.T, c *freshCache) {
		if !c.Expire("k") || c.Expire("k") || c.Expire("other") {
			t.Error("Expire reports something else than whether there was a value")
		}
		if _, ok := c.Get("k"); ok {
			t.Error("Get finds an old value")
		}
		c.db.fails = errDown
		c.take(1) // and begins a load in the background
		c.asked(2)
		c.db.fails = nil
		c.Expire("k") // ends the pause after the failure
		c.take(1)
		c.asked(3)
		c.take(3)
		c.removed(cache.Event[string, int]{Key: "k", Value: 1, Cause: cache.Replaced})
		c.Expire("k")
		time.Sleep(time.Minute - time.Nanosecond)
		c.db.fails = errDown
		c.take(3)
		time.Sleep(c.Tick())
		c.removed(cache.Event[string, int]{Key: "k", Value: 3, Cause: cache.Expired})
		c.takeIn(0, 0, errDown)
	})
}

// TestExpireWithoutGrace checks that the value is gone for all methods, and leaves at the next tick.
func TestExpireWithoutGrace(t *testing.T) {
	for name, o := range map[string]cache.Options[string, int]{
		"for ever": {}, "TTL": {Expire: time.Hour}, "Idle": {Idle: time.Hour}, "limit": {Limit: 10}, "Refresh": {Expire: time.Hour, Refresh: 0.5},
	} {
		synctest.Test(t, func(t *testing.T) {
			var removed []cache.Event[string, int]
			o.OnRemove = func(e cache.Event[string, int]) { removed = append(removed, e) }
			c := cache.Must(o)
			c.Set("k", 1)
			time.Sleep(time.Millisecond)
			if _, ok := c.Peek("k"); !c.Expire("k") || !ok {
				t.Errorf("%s: there was no value", name)
			}
			if _, ok := c.Get("k"); ok || c.Touch("k", time.Hour) {
				t.Errorf("%s: the value is still there", name)
			}
			time.Sleep(2 * c.Tick())
			synctest.Wait()
			if !slices.Equal(removed, []cache.Event[string, int]{{Key: "k", Value: 1, Cause: cache.Expired}}) || c.Len() != 0 {
				t.Errorf("%s: removed %v", name, removed)
			}
			cache.WantWhole(t, c)
			cache.MustClose(t, c)
		})
	}
}

// expirers are the ways to make the value of "k" old.
var expirers = map[string]func(c *cache.Cache[string, int]) int{
	"Expire": func(c *cache.Cache[string, int]) int {
		if c.Expire("k") {
			return 1
		}
		return 0
	},
	"ExpireAll": func(c *cache.Cache[string, int]) int { n := c.Len(); c.ExpireAll(); return n },
	"ExpireFunc": func(c *cache.Cache[string, int]) int {
		return c.ExpireFunc(func(key string, _ int) bool { return strings.HasPrefix(key, "k") })
	},
}

// TestExpireBesideALoad checks that a load which began before is not stored, that its callers get its
// result, and that the next caller begins another.
func TestExpireBesideALoad(t *testing.T) {
	for name, expire := range expirers {
		for _, grace := range []time.Duration{0, time.Hour} {
			tableTest(t, cache.Options[string, int]{Expire: time.Minute, Grace: grace}, func(t *testing.T, d *table, c *cache.Cache[string, int]) {
				d.set("k", 1)
				result := make(chan int, 1)
				go func() { v, _ := c.Fetch(t.Context(), "k"); result <- v }()
				time.Sleep(time.Millisecond)
				expire(c)
				d.set("k", 2)
				if v, err := c.Fetch(t.Context(), "k"); v != 2 || err != nil {
					t.Errorf("%s: Fetch = %d, %v", name, v, err)
				}
				if v := <-result; v != 1 {
					t.Errorf("%s: the first caller gets %d", name, v)
				}
				if v, ok := c.Get("k"); v != 2 || !ok {
					t.Errorf("%s: the value is %d, %t", name, v, ok)
				}
			})
		}
	}
}

// TestExpireDropsErrors checks that a kept error is dropped too.
func TestExpireDropsErrors(t *testing.T) {
	for name, expire := range expirers {
		tableTest(t, cache.Options[string, int]{Negative: keepNoRow}, func(t *testing.T, d *table, c *cache.Cache[string, int]) {
			d.tell = func(_ string, l *cache.Load[int]) { l.Err = errNoRow }
			for range 2 {
				if _, err := c.Fetch(t.Context(), "k"); err != errNoRow {
					t.Errorf("the error is %v", err)
				}
			}
			d.called(t, []string{"k"})
			expire(c)
			d.tell = nil
			d.set("k", 1)
			if v, err := c.Fetch(t.Context(), "k"); v != 1 || err != nil {
				t.Errorf("%s: Fetch = %d, %v", name, v, err)
			}
		})
	}
}

// TestExpireMany checks ExpireFunc and ExpireAll on more entries than one hold of a lock takes, also
// while the shards are divided.
func TestExpireMany(t *testing.T) {
	for name, o := range map[string]cache.Options[int, int]{"plain": {}, "Grace": {Expire: time.Hour, Grace: time.Hour}, "OnRemove": {OnRemove: func(cache.Event[int, int]) {}}} {
		for _, split := range []bool{false, true} {
			t.Run(fmt.Sprint(name, split), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := cache.Must(o)
					defer cache.MustClose(t, c)
					const n = 5000
					for i := range n {
						c.Set(i, i)
					}
					asked := 0
					expired := c.ExpireFunc(func(key, value int) bool {
						if asked++; split && asked == 100 {
							c.SplitInto(4)
						}
						return key%2 == 0
					})
					if expired != n/2 || asked < n {
						t.Errorf("%d of %d expired, %d asked", expired, n, asked)
					}
					for i := range n {
						if _, ok := c.Peek(i); ok == (i%2 == 0) {
							t.Fatalf("%d is there: %t", i, ok)
						}
					}
					c.ExpireAll()
					for range c.All() {
						t.Fatal("a value is left")
					}
					c.Set(1, 1)
					time.Sleep(2 * c.Tick())
					synctest.Wait()
					if want := map[bool]int{true: n, false: 1}[o.Grace > 0]; c.Len() != want {
						t.Errorf("%d entries, want %d", c.Len(), want)
					}
					cache.WantWhole(t, c)
				})
			})
		}
	}
}

// TestRefreshAfter checks that a value without a TTL is renewed after that time, and stays.
func TestRefreshAfter(t *testing.T) {
	freshTest(t, func(t *testing.T, c *freshCache) {
		c.take(1)
		time.Sleep(10*time.Second - time.Microsecond)
		c.take(1)
		c.asked(1)
		time.Sleep(time.Microsecond)
		c.take(1)
		c.take(2)
		c.asked(2)
		time.Sleep(1000 * time.Hour)
		if v, ok := c.Get("k"); v != 2 || !ok {
			t.Errorf("the value is %d, %t", v, ok)
		}
		c.db.fails = errDown
		c.take(2)
		c.take(2)
		c.asked(3)
	}, func(o *cache.Options[string, int]) {
		o.Expire, o.Refresh, o.Grace, o.RefreshAfter = 0, 0, 0, 10*time.Second
	})
}

// TestRetryAfter checks that the pause after a failed renewal is what the option says, which is told how
// many have failed; and that it is the usual one if the option panics.
func TestRetryAfter(t *testing.T) {
	var told []int
	var panics []any
	agedTest(t, time.Minute, func(t *testing.T, c *freshCache) {
		c.db.fails = errDown
		for n := range 4 {
			c.take(1)
			c.asked(n + 2)
			time.Sleep(time.Duration(n+1)*time.Second - time.Microsecond)
			c.take(1)
			c.asked(n + 2)
			time.Sleep(time.Microsecond)
		}
		if !slices.Equal(told, []int{1, 2, 3, 4}) {
			t.Errorf("told of %v failures", told)
		}
		c.db.fails = nil
		c.take(1)
		c.take(6)
		time.Sleep(time.Minute)
		told = nil
		c.db.fails = errDown
		c.take(6) // 1 failure
		time.Sleep(time.Second)
		told = []int{0, 0, 0, 0, 0}
		c.take(6) // RetryAfter panics: the usual pause, of 1.2 to 1.5 s
		time.Sleep(time.Second)
		c.take(6)
		c.asked(8)
		if !slices.Equal(panics, []any{"too often"}) {
			t.Errorf("panics %v", panics)
		}
	}, func(o *cache.Options[string, int]) {
		o.Grace = time.Hour
		o.RetryAfter = func(failures int) time.Duration {
			if told = append(told, failures); len(told) > 5 {
				panic("too often")
			}
			return time.Duration(failures) * time.Second
		}
		o.OnPanic = func(p any, _ []byte) { panics = append(panics, p) }
	})
}

// TestRetryAfterThatExits checks that a RetryAfter which calls Goexit ends no load, and is not asked for a
// Refresh of a fresh value, nor told of more failures than there were.
func TestRetryAfterThatExits(t *testing.T) {
	asked := 0
	agedTest(t, time.Second, func(t *testing.T, c *freshCache) {
		if err := c.Refresh(t.Context(), "k"); err != errDown || asked != 0 {
			t.Errorf("Refresh returns %v, and RetryAfter was asked %d times", err, asked)
		}
		time.Sleep(time.Minute)
		c.db.fails = errDown
		c.take(1)
		c.asked(2)
		if asked != 1 {
			t.Errorf("RetryAfter was asked %d times", asked)
		}
	}, func(o *cache.Options[string, int]) {
		o.Load = func(context.Context, string, *cache.Load[int]) (int, error) { return 0, errDown }
		o.RetryAfter = func(failures int) time.Duration {
			if asked++; failures != 1 {
				t.Errorf("told of %d failures", failures)
			}
			runtime.Goexit()
			return 0
		}
	})
}

// TestExpireAfterAPauseForEver checks that Expire ends also a pause that does not end by itself.
func TestExpireAfterAPauseForEver(t *testing.T) {
	agedTest(t, time.Minute, func(t *testing.T, c *freshCache) {
		c.db.fails = errDown
		c.take(1)
		c.take(1)
		c.asked(2)
		c.Expire("k")
		c.take(1)
		c.asked(3)
	}, func(o *cache.Options[string, int]) {
		o.RetryAfter = func(int) time.Duration { return math.MaxInt64 }
	})
}

// TestRetryAtOnce checks that with a RetryAfter of 0 each caller in Grace begins a renewal, and that it is
// told of 30 failures at most.
func TestRetryAtOnce(t *testing.T) {
	last := 0
	agedTest(t, time.Minute, func(t *testing.T, c *freshCache) {
		c.db.fails = errDown
		for n := range 40 {
			c.take(1)
			c.asked(n + 2)
			time.Sleep(time.Nanosecond * 40) // a word of due is exact to 32 ns
		}
		if last != 30 {
			t.Errorf("told of %d failures", last)
		}
	}, func(o *cache.Options[string, int]) {
		o.RetryAfter = func(failures int) time.Duration { last = failures; return 0 }
	})
}
