package cache

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// The ways to make the value of "k" expire.
var expiries = map[string]func(c *Cache[string, int]) bool{
	"Expire": func(c *Cache[string, int]) bool { return c.Expire("k") },
	"ExpireAll": func(c *Cache[string, int]) bool {
		_, live := c.Peek("k")
		c.ExpireAll()
		return live
	},
}

// expireTest is freshTest with each way to expire a value.
func expireTest(t *testing.T, test func(t *testing.T, c *freshCache, expire func() bool), change ...func(o *Options[string, int])) {
	for name, expire := range expiries {
		t.Run(name, func(t *testing.T) {
			freshTest(t, func(t *testing.T, c *freshCache) { test(t, c, func() bool { return expire(c.Cache) }) }, change...)
		})
	}
}

func noGrace(o *Options[string, int]) { o.Grace = 0 }

// TestExpireWithoutGrace checks that the value is gone at once, as an expired one.
func TestExpireWithoutGrace(t *testing.T) {
	for _, idle := range []time.Duration{0, time.Hour} {
		for _, ttl := range []time.Duration{0, time.Minute} {
			expireTest(t, func(t *testing.T, c *freshCache, expire func() bool) {
				if expire() {
					t.Error("there was no value")
				}
				c.SetWithExpire("k", 1, ttl)
				if !expire() || expire() {
					t.Error("want true once")
				}
				c.removed(Event[string, int]{"k", 1, Expired})
				if _, ok := c.Get("k"); ok || c.Len() != 0 {
					t.Error("the value is there")
				}
				if s := c.Stats(); s.Removals.Expired != 1 || s.MissesExpired != 1 {
					t.Errorf("%d expired, %d misses of what expired; want 1, 1", s.Removals.Expired, s.MissesExpired)
				}
				c.db.fails = errDown
				c.takeIn(0, 0, errDown)
			}, noGrace, func(o *Options[string, int]) { o.Idle = idle })
		}
	}
}

// TestExpireIntoGrace checks that the value is as one whose TTL has ended now: found by no
// reader, loaded anew by the next Take, there if that fails, and removed at the end of Grace.
func TestExpireIntoGrace(t *testing.T) {
	for _, idle := range []time.Duration{0, 10 * time.Second} {
		for _, ttl := range []time.Duration{0, time.Minute, 30 * time.Second, 24 * time.Hour} {
			expireTest(t, func(t *testing.T, c *freshCache, expire func() bool) {
				c.SetWithExpire("k", 10, ttl)
				time.Sleep(5 * time.Second)
				if !expire() || expire() {
					t.Error("want true once")
				}
				if _, ok := c.Peek("k"); ok || c.Len() != 1 {
					t.Errorf("Peek finds the value: %v; %d entries", ok, c.Len())
				}
				c.db.fails = errDown
				c.db.takes = 500 * time.Millisecond
				c.takeIn(500*time.Millisecond, 10, nil)
				c.asked(1)
				time.Sleep(59*time.Second + 499*time.Millisecond)
				c.db.takes = 0
				c.take(10)
				c.removed()
				time.Sleep(time.Millisecond)
				c.takeIn(0, 0, errDown)
				time.Sleep(time.Second) // a tick
				c.removed(Event[string, int]{"k", 10, Expired})
				if s := c.Stats(); s.Removals.Expired != 1 || s.HitsInGrace < 2 {
					t.Errorf("%d expired, %d hits in Grace", s.Removals.Expired, s.HitsInGrace)
				}
			}, patience, func(o *Options[string, int]) { o.Idle = idle })
		}
	}
}

// TestExpireIsRenewed checks that the first Take after Expire loads anew, with Patience or
// without, and that the new value lives as any.
func TestExpireIsRenewed(t *testing.T) {
	expireTest(t, func(t *testing.T, c *freshCache, expire func() bool) {
		c.take(1)
		expire()
		c.take(1) // and has it loaded
		c.take(2)
		c.asked(2)
		if left, _ := c.TTL("k"); left != time.Minute {
			t.Errorf("the new value has %v left", left)
		}
		c.removed(Event[string, int]{"k", 1, Replaced})
	})
	expireTest(t, func(t *testing.T, c *freshCache, expire func() bool) {
		c.take(1)
		expire()
		c.db.takes = 500 * time.Millisecond
		c.takeIn(500*time.Millisecond, 2, nil)
	}, patience)
}

// TestExpireEndsThePause checks that a value in Grace whose load has failed is loaded at the next
// Take after Expire, and stays no longer.
func TestExpireEndsThePause(t *testing.T) {
	expireTest(t, func(t *testing.T, c *freshCache, expire func() bool) {
		c.take(1)
		time.Sleep(time.Minute)
		c.db.fails = errDown
		c.take(1)
		c.take(1)
		c.asked(2)
		time.Sleep(30 * time.Second)
		c.take(1)
		c.take(1)
		c.asked(3)
		if expire() {
			t.Error("Expire found a value in Grace")
		}
		c.take(1)
		c.asked(4)
		time.Sleep(30 * time.Second)
		c.takeIn(0, 0, errDown)
	})
}

// TestExpireOvertakesLoads checks that a load which began before Expire is not stored, as it may
// have read what was there before, and that the next caller does not join it.
func TestExpireOvertakesLoads(t *testing.T) {
	for name, o := range map[string]func(*Options[string, int]){"with Grace": patience, "without": noGrace} {
		t.Run(name, func(t *testing.T) {
			expireTest(t, func(t *testing.T, c *freshCache, expire func() bool) {
				c.db.takes = time.Second
				early := make(chan int, 2)
				go func() {
					v, _ := c.TakeCtx(t.Context(), "k", c.db.fetch)
					early <- v
				}()
				synctest.Wait()
				go func() {
					found, _ := c.TakeMany(t.Context(), []string{"k"}, nothing)
					early <- found["k"]
				}()
				time.Sleep(500 * time.Millisecond)
				expire()
				c.takeIn(time.Second, 2, nil)
				if a, b := <-early, <-early; a != 1 || b != 1 {
					t.Errorf("those from before got %d and %d", a, b)
				}
				if v, ok := c.Peek("k"); v != 2 || !ok {
					t.Errorf("the cache has %d, %v; want 2", v, ok)
				}
				c.asked(2)
				c.removed()
			}, o)
		})
	}
}

func nothing(context.Context, []string) (map[string]int, error) { return nil, nil }

// TestExpireBesideOthers checks Expire beside what else knows of a key.
func TestExpireBesideOthers(t *testing.T) {
	t.Run("a Compute under way sees no value at its second call", func(t *testing.T) {
		expireTest(t, func(t *testing.T, c *freshCache, expire func() bool) {
			c.Set("k", 1)
			calls := 0
			c.Compute("k", func(old int, found bool) (int, Op) {
				if calls++; calls == 1 {
					go expire()
					synctest.Wait()
					return old + 1, OpSet
				}
				if found {
					t.Errorf("found %d", old)
				}
				return 7, OpSet
			})
			if left, _ := c.TTL("k"); calls != 2 || left != time.Minute {
				t.Errorf("%d calls, %v left", calls, left)
			}
		})
	})
	t.Run("a kept error is dropped", func(t *testing.T) {
		expireTest(t, func(t *testing.T, c *freshCache, expire func() bool) {
			c.db.fails = errDown
			c.takeIn(0, 0, errDown)
			c.takeIn(0, 0, errDown)
			c.asked(1)
			if expire() {
				t.Error("an error is no value")
			}
			c.takeIn(0, 0, errDown)
			c.asked(2)
		}, func(o *Options[string, int]) {
			o.Negative = func(error) time.Duration { return time.Hour }
		})
	})
	t.Run("a permit is given back once", func(t *testing.T) {
		expireTest(t, func(t *testing.T, c *freshCache, expire func() bool) {
			c.take(1)
			time.Sleep(31 * time.Second)
			c.db.takes = time.Second
			c.take(1)
			expire()
			c.take(1) // the old load still has the permit
			c.asked(2)
			if n := c.shared.loading.renewals.skipped.Load(); n != 1 {
				t.Errorf("%d renewals were skipped, want 1", n)
			}
			time.Sleep(2 * time.Second)
			c.take(1)
			time.Sleep(2 * time.Second)
			c.take(3)
		}, func(o *Options[string, int]) { o.MaxLoads = 1 })
	})
	t.Run("DelFunc finds it in Grace", func(t *testing.T) {
		expireTest(t, func(t *testing.T, c *freshCache, expire func() bool) {
			c.Set("k", 1)
			expire()
			if n := c.DelFunc(func(string, int) bool { return true }); n != 1 {
				t.Errorf("DelFunc removed %d", n)
			}
			c.removed(Event[string, int]{"k", 1, Deleted})
		})
	})
	t.Run("a walk yields it no more", func(t *testing.T) {
		expireTest(t, func(t *testing.T, c *freshCache, expire func() bool) {
			c.Set("k", 1)
			c.Set("l", 2)
			first := true
			for key := range c.All() {
				if !first {
					t.Errorf("the walk goes on with %q", key)
				}
				first = false
				c.ExpireAll()
			}
		})
	})
	t.Run("Save leaves it out", func(t *testing.T) {
		expireTest(t, func(t *testing.T, c *freshCache, expire func() bool) {
			c.Set("k", 1)
			expire()
			var b bytes.Buffer
			if err := c.Save(&b, func(dst []byte, key string, value int) ([]byte, error) {
				return binary.AppendVarint(dst, int64(value)), nil
			}); err != nil {
				t.Fatal(err)
			}
			c.Clear()
			n, err := c.Restore(&b, func([]byte) (string, int, error) { return "k", 1, nil })
			if n != 0 || err != nil {
				t.Errorf("%d came back: %v", n, err)
			}
		})
	})
	t.Run("a stored value lives again", func(t *testing.T) {
		expireTest(t, func(t *testing.T, c *freshCache, expire func() bool) {
			c.Set("k", 1)
			expire()
			if c.Touch("k", time.Hour) || c.Del("l") {
				t.Error("Touch found it")
			}
			c.Set("k", 2)
			if left, ok := c.TTL("k"); !ok || left != time.Minute {
				t.Errorf("%v left, %v", left, ok)
			}
			c.removed(Event[string, int]{"k", 1, Replaced})
			time.Sleep(59 * time.Second)
			if err := c.check(); err != nil {
				t.Error(err)
			}
		})
	})
}

// TestExpireAllIsNoOutage checks that after ExpireAll all values stand in while the database
// is down, each is loaded once, and they are new when it is back.
func TestExpireAllIsNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[int, int]{Expire: time.Hour, Grace: 10 * time.Minute, Limit: 100_000, Idle: 2 * time.Hour})
		defer c.Close(t.Context())
		const keys = 20_000
		for key := range keys {
			c.Set(key, key)
		}
		c.splitInto(4)
		if _, ok := c.Get(7); !ok {
			t.Fatal("7 is not there")
		}
		c.ExpireAll()
		if err := c.check(); err != nil {
			t.Fatal(err)
		}
		down := errors.New("down")
		take := func(err error) (wrong int) {
			for key := range keys {
				if v, got := c.Take(key, func() (int, error) { return -key, err }); got != nil || v != key && err != nil || v != -key && err == nil {
					wrong++
				}
			}
			return wrong
		}
		if n := take(down); n != 0 {
			t.Errorf("%d of %d keys were wrong during the outage", n, keys)
		}
		time.Sleep(2 * time.Minute)
		if n := take(nil); n != 0 {
			t.Errorf("%d of %d keys were old afterwards", n, keys)
		}
		if s := c.Stats(); s.Entries != keys || s.Removals.Expired != 0 {
			t.Error(fmt.Sprint(s.Entries, " entries, ", s.Removals.Expired, " expired"))
		}
	})
}

// TestExpireAcrossBubbles checks that only what sets a task panics there.
func TestExpireAcrossBubbles(t *testing.T) {
	for _, grace := range []time.Duration{0, time.Minute} {
		c := Must(Options[string, int]{Grace: grace})
		c.Set("k", 1)
		synctest.Test(t, func(t *testing.T) {
			defer func() {
				if p := recover(); (p != nil) != (grace > 0) {
					t.Errorf("Grace %v: %v", grace, p)
				}
			}()
			c.Expire("k")
		})
		_ = c.Close(context.Background())
	}
}
