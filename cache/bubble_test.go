package cache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestAcrossBubbles uses caches inside a bubble of testing/synctest that were made outside, as
// variables of a package are, and the other way round. What needs the time panics and says so.
// Otherwise the value would never expire, or the runtime would end the process.
//
// Catches: a value that outlives its TTL, in the bubble and after it; a lock left behind by the
// panic; a panic that no caller gets.
func TestAcrossBubbles(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ctx.Done() // made here, it can be closed here
	uses := func(c *Cache[int, int], snapshot []byte) map[string]func() {
		fetch := func(context.Context) (int, error) { return 2, nil }
		return map[string]func(){
			"Set":               func() { c.Set(2, 2) },
			"Set again":         func() { c.Set(1, 2) },
			"SetWithExpire":     func() { c.SetWithExpire(2, 2, time.Second) },
			"GetOrSet":          func() { c.GetOrSet(2, 2) },
			"Swap":              func() { c.Swap(1, 2) },
			"Compute":           func() { c.Compute(2, func(int, bool) (int, Op) { return 2, OpSet }) },
			"ComputeWithExpire": func() { c.ComputeWithExpire(1, time.Second, func(int, bool) (int, Op) { return 2, OpSet }) },
			"Take":              func() { _, _ = c.Take(2, func() (int, error) { return 2, nil }) },
			"TakeCtx":           func() { _, _ = c.TakeCtx(ctx, 2, fetch) },
			"TakeCtx, an error": func() {
				_, _ = c.TakeCtx(ctx, 2, func(context.Context) (int, error) { return 0, errors.New("none") })
			},
			"TakeWith": func() {
				_, _ = c.TakeWith(context.Background(), 2, func(context.Context, *Load[int]) (int, error) { return 2, nil })
			},
			"TakeMany": func() {
				_, _ = c.TakeMany(ctx, []int{2, 3}, func(context.Context, []int) (map[int]int, error) { return map[int]int{2: 2}, nil })
			},
			"Touch":   func() { c.Touch(1, time.Second) },
			"Restore": func() { _, _ = c.Restore(bytes.NewReader(snapshot), decodeInts) },
		}
	}
	source := Must(Options[int, int]{Expire: time.Hour})
	source.Set(2, 2)
	snapshot := saved(t, source)
	options := map[string]Options[int, int]{
		"Expire":   {Expire: time.Minute},
		"Idle":     {Idle: time.Minute},
		"weighed":  {Expire: time.Minute, MaxWeight: 100, Weigh: func(int, int) uint32 { return 1 }},
		"Refresh":  {Expire: time.Minute, Refresh: .5, Grace: time.Minute},
		"Negative": {Expire: time.Minute, Negative: func(error) time.Duration { return time.Second }},
		"short":    {Expire: time.Second / 20},
	}
	wants := func(t *testing.T, text string, uses map[string]func()) {
		for name, use := range uses {
			if got := recovered(use); !strings.Contains(fmt.Sprint(got), text) {
				t.Errorf("%s: panic %v, want one that says %q", name, got, text)
			}
		}
	}
	for name, o := range options {
		t.Run(name+", made outside", func(t *testing.T) {
			c := Must(o)
			c.Set(1, 1)
			synctest.Test(t, func(t *testing.T) {
				wants(t, "make it in the bubble", uses(c, snapshot))
				readAll(c)
			})
			c.Set(3, 3)
			if v, ok := c.Get(3); !ok || v != 3 {
				t.Errorf("after the bubble: %d %v, want 3", v, ok)
			}
			if c.Len() > 2 {
				t.Errorf("%d entries, want those of keys 1 and 3", c.Len())
			}
			if err := c.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
		t.Run(name+", made in a bubble", func(t *testing.T) {
			var c *Cache[int, int]
			synctest.Test(t, func(t *testing.T) {
				c = Must(o)
				c.Set(1, 1)
			})
			wants(t, "is used outside", uses(c, snapshot))
			wants(t, "is used outside", map[string]func(){"Close": func() { _ = c.Close(t.Context()) }})
			readAll(c)
			c.unregister()
		})
	}
}

// readAll calls what reads a cache, and what removes from it. None of it needs the exact time.
func readAll(c *Cache[int, int]) {
	c.Get(1)
	c.Peek(1)
	c.TTL(1)
	c.Stats()
	c.Len()
	for range c.All() {
	}
	c.Del(7)
	c.DelFunc(func(int, int) bool { return false })
}

// TestExpiringValuesAcrossBubbles gives single values a TTL, on the other side of a bubble, in
// caches that have none.
func TestExpiringValuesAcrossBubbles(t *testing.T) {
	c := Must(Options[int, int]{})
	c.Set(1, 1)
	load := func(_ context.Context, l *Load[int]) (int, error) {
		l.Expire = time.Minute
		return 2, nil
	}
	lasting := Must(Options[int, int]{})
	lasting.SetWithExpire(2, 2, time.Minute)
	snapshot := saved(t, lasting)
	synctest.Test(t, func(t *testing.T) {
		for name, use := range map[string]func(){
			"Set":      func() { c.SetWithExpire(2, 2, time.Minute) },
			"Touch":    func() { c.Touch(1, time.Minute) },
			"TakeWith": func() { _, _ = c.TakeWith(context.Background(), 2, load) },
			"Restore":  func() { _, _ = c.Restore(bytes.NewReader(snapshot), decodeInts) },
		} {
			if got := recovered(use); !strings.Contains(fmt.Sprint(got), "make it in the bubble") {
				t.Errorf("%s: panic %v, want one that says what to do", name, got)
			}
		}
	})
	if left, _ := c.TTL(1); c.Len() != 1 || left != 1<<63-1 {
		t.Errorf("%d entries, and the first lasts for %v: want only it, for ever", c.Len(), left)
	}
}

// TestWithoutTTLAcrossBubbles checks that a cache whose values never expire works on both sides.
func TestWithoutTTLAcrossBubbles(t *testing.T) {
	c := Must(Options[int, int]{Limit: 10})
	use := func() {
		for k := range 20 {
			if v, err := c.Take(k, func() (int, error) { return k, nil }); v != k || err != nil {
				t.Errorf("%d %v, want %d", v, err, k)
			}
			c.Set(k, k+1)
			if v, _ := c.Get(k); v != k+1 {
				t.Errorf("%d, want %d", v, k+1)
			}
		}
	}
	synctest.Test(t, func(*testing.T) { use() })
	use()
	synctest.Test(t, func(*testing.T) { c = Must(Options[int, int]{Limit: 10}) })
	use()
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestInABubbleForLong checks that a cache made in a bubble works there for two hundred years.
func TestInABubbleForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[int, int]{Expire: time.Minute})
		defer c.Close(t.Context())
		for range 4 {
			c.Set(1, 1)
			time.Sleep(time.Minute - 1)
			if _, ok := c.Get(1); !ok {
				t.Error("expired before its time")
			}
			time.Sleep(time.Nanosecond)
			if _, ok := c.Get(1); ok {
				t.Error("there after its time")
			}
			time.Sleep(50 * 365 * 24 * time.Hour)
		}
	})
}

// recovered returns what f panics with, or nil.
func recovered(f func()) (cause any) {
	defer func() { cause = recover() }()
	f()
	return nil
}
