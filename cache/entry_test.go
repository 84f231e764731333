package cache

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestGetAndDel checks that GetAndDel removes what it returns.
func TestGetAndDel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[string, int]{})
		c.Set("a", 1)
		c.SetWithExpire("b", 2, time.Millisecond)
		time.Sleep(time.Millisecond)
		for _, want := range []struct {
			key   string
			value int
			ok    bool
		}{{"a", 1, true}, {"a", 0, false}, {"b", 0, false}, {"c", 0, false}} {
			if v, ok := c.GetAndDel(want.key); v != want.value || ok != want.ok {
				t.Errorf("GetAndDel(%q) = %d, %v; want %d, %v", want.key, v, ok, want.value, want.ok)
			}
		}
		if s := c.Stats(); s.Removals.Deleted != 1 || s.Removals.Expired != 1 || s.Hits+s.Misses != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// TestSwap checks that Swap returns what it replaces.
func TestSwap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[string, int]{Expire: time.Second})
		if v, ok := c.Swap("a", 1); v != 0 || ok {
			t.Errorf("Swap of nothing = %d, %v", v, ok)
		}
		time.Sleep(time.Second / 2)
		if v, ok := c.Swap("a", 2); v != 1 || !ok {
			t.Errorf("Swap = %d, %v", v, ok)
		}
		if left, _ := c.TTL("a"); left != time.Second {
			t.Errorf("it has %v left, want that of a Set", left)
		}
		time.Sleep(time.Second)
		if v, ok := c.Swap("a", 3); v != 0 || ok {
			t.Errorf("Swap of what has expired = %d, %v", v, ok)
		}
		if v, ok := c.Get("a"); v != 3 || !ok {
			t.Errorf("Get = %d, %v", v, ok)
		}
	})
}

// TestGetOrSetAndComputeWithTTLs checks the TTLs given to GetOrSetWithExpire, and a negative
// one to ComputeWithExpire; TestModel has the others.
func TestGetOrSetAndComputeWithTTLs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[string, int]{Expire: time.Hour})
		wantLeft := func(key string, want time.Duration) {
			t.Helper()
			if got, ok := c.TTL(key); got != want || ok != (want > 0) {
				t.Errorf("%q has %v left, %v; want %v", key, got, ok, want)
			}
		}
		c.GetOrSetWithExpire("a", 1, time.Minute)
		wantLeft("a", time.Minute)
		if v, loaded := c.GetOrSetWithExpire("none", 1, -1); v != 1 || loaded {
			t.Errorf("GetOrSetWithExpire = %d, %v", v, loaded)
		}
		wantLeft("none", 0)
		if v, ok := c.ComputeWithExpire("a", -1, func(old int, _ bool) (int, Op) { return old + 1, OpSet }); v != 0 || ok {
			t.Errorf("ComputeWithExpire = %d, %v", v, ok)
		}
		wantLeft("a", 0)
	})
}

// TestWaitForCallbacks checks that Wait waits for OnRemove without closing the cache.
func TestWaitForCallbacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := 0
		var c *Cache[int, int]
		var inside error
		c = Must(Options[int, int]{Workers: 1, OnRemove: func(Event[int, int]) {
			inside = c.Wait(context.Background())
			time.Sleep(time.Second)
			told++
		}})
		for k := range 3 {
			c.Set(k, k)
			c.Del(k)
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("enough"))
		defer cancel()
		if err := c.Wait(ctx); err == nil || err.Error() != "enough" {
			t.Errorf("Wait with too short a time: %v", err)
		}
		if err := c.Wait(t.Context()); err != nil || told != 3 {
			t.Errorf("Wait: %v, and OnRemove was told %d times", err, told)
		}
		if inside == nil {
			t.Error("Wait in a callback: no error")
		}
		if c.Closed() {
			t.Error("it is closed")
		}
		if err := c.Close(t.Context()); err != nil || !c.Closed() {
			t.Errorf("Close: %v, closed is %v", err, c.Closed())
		}
	})
}

// TestSecondLookIsAUse checks that a Take that missed, and then finds a value stored
// meanwhile, marks it as used.
func TestSecondLookIsAUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[int, int]{Limit: 100, Idle: time.Minute})
		c.Set(1, 1)
		time.Sleep(30 * time.Second)
		if v, _, r, _ := c.assign(1, aPlainTake(), nil); v != 1 || r != finder {
			t.Fatalf("assign = %d, role %d", v, r)
		}
		if left, _ := c.TTL(1); left != time.Minute {
			t.Errorf("it is idle in %v", left)
		}
	})
}
