package cache

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// hourly are the options of a cache whose values are loaded anew hourly, and never expire.
func hourly(o *Options[string, int]) {
	*o = Options[string, int]{RefreshAfter: time.Hour, OnRemove: o.OnRemove, Workers: 1}
}

// TestRefreshAfter checks that a value that never expires is loaded anew when it is asked for
// after that time, and not before, by a Get or by a timer; and that it stays while loads fail.
func TestRefreshAfter(t *testing.T) {
	freshTest(t, func(t *testing.T, c *freshCache) {
		c.take(1)
		for want := 1; want < 4; want++ {
			time.Sleep(time.Hour - time.Millisecond)
			c.take(want)
			c.asked(want)
			time.Sleep(time.Minute)
			if v, ok := c.Get("k"); v != want || !ok {
				t.Errorf("Get = %d, %v", v, ok)
			}
			c.asked(want)
			c.take(want) // and has it loaded
			c.asked(want + 1)
			c.take(want + 1)
		}
		c.db.fails = errDown
		time.Sleep(1000 * time.Hour)
		c.take(4)
		c.asked(5)
		c.take(4)
		c.asked(5) // the pause
		time.Sleep(2 * time.Minute)
		c.take(4)
		c.asked(6)
		c.db.fails = nil
		time.Sleep(1000 * time.Hour)
		c.take(4)
		c.take(7)
		if left, ok := c.TTL("k"); !ok || left != 1<<63-1 {
			t.Errorf("%v left, %v", left, ok)
		}
	}, hourly)
}

// TestRefreshAfterOfOthers checks values with TTLs, of TakeMany, after Touch, and with Jitter.
func TestRefreshAfterOfOthers(t *testing.T) {
	freshTest(t, func(t *testing.T, c *freshCache) {
		c.SetWithExpire("k", 10, 24*time.Hour)
		time.Sleep(time.Hour)
		c.take(10)
		c.take(1) // its TTL is that of the options
		c.SetWithExpire("k", 10, 10*time.Minute)
		time.Sleep(10 * time.Minute)
		if _, ok := c.Get("k"); ok {
			t.Error("the value outlives its TTL")
		}
		c.take(2)
		time.Sleep(59 * time.Minute)
		c.Touch("k", 0)
		time.Sleep(59 * time.Minute)
		c.take(2)
		c.asked(2)
		time.Sleep(time.Minute)
		many := func() int {
			found, err := c.TakeMany(t.Context(), []string{"k"}, func(context.Context, []string) (map[string]int, error) {
				return map[string]int{"k": 20}, nil
			})
			synctest.Wait()
			if err != nil {
				t.Error(err)
			}
			return found["k"]
		}
		if old, now := many(), many(); old != 2 || now != 20 {
			t.Errorf("TakeMany = %d, then %d; want 2, then 20", old, now)
		}
	}, hourly)
	freshTest(t, func(t *testing.T, c *freshCache) {
		for i := range 200 {
			c.Set(fmt.Sprint(i), i)
		}
		refreshed := func() (n int) {
			for i := range 200 {
				c.TakeCtx(t.Context(), fmt.Sprint(i), func(context.Context) (int, error) { n++; return i, nil })
				synctest.Wait()
			}
			return n
		}
		time.Sleep(30*time.Minute - time.Second)
		none := refreshed()
		time.Sleep(30 * time.Minute)
		some := refreshed()
		time.Sleep(30*time.Minute + 2*time.Second)
		if rest := refreshed(); none != 0 || some < 50 || some > 150 || some+rest < 200 {
			t.Errorf("%d, %d and %d of 200 were due half an hour early, at the hour, and half an hour late", none, some, rest)
		}
	}, hourly, func(o *Options[string, int]) { o.Jitter = 0.5 })
}

// TestRefreshAfterAndGrace checks that with Grace and a TTL a value is due after the time, and
// after ExpireAll at once, as one that never expires is.
func TestRefreshAfterAndGrace(t *testing.T) {
	freshTest(t, func(t *testing.T, c *freshCache) {
		c.take(1)
		time.Sleep(time.Hour)
		c.take(1)
		c.take(2)
		c.ExpireAll()
		c.take(2)
		c.take(3)
		c.db.fails = errDown
		time.Sleep(24*time.Hour + time.Minute)
		c.take(3) // in Grace
		c.asked(4)
	}, hourly, func(o *Options[string, int]) { o.Expire, o.Grace = 24*time.Hour, 24*time.Hour })
}

func TestRefreshAfterMistakes(t *testing.T) {
	for want, o := range map[string]Options[int, int]{
		"cache: RefreshAfter is -1s: want a positive time, or 0 for never":                               {RefreshAfter: -time.Second},
		"cache: RefreshAfter is 3.6µs: want at least 1ms; was a unit forgotten, as in 3600*time.Second?": {RefreshAfter: 3600},
		"cache: RefreshAfter is 1h0m0s and Refresh 0.5: want one of them":                                {RefreshAfter: time.Hour, Refresh: 0.5, Expire: time.Hour},
	} {
		if _, err := New(o); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
