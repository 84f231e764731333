package cache_test

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// TestComputeThatChangesItsOwnKey checks that Compute panics, and is not called for ever, if its
// function always changes its own key; and that a panic of the function changes nothing.
func TestComputeThatChangesItsOwnKey(t *testing.T) {
	for name, change := range map[string]func(c *cache.Cache[int, int]){
		"Set":     func(c *cache.Cache[int, int]) { c.Set(1, 5) },
		"Del":     func(c *cache.Cache[int, int]) { c.Del(1) },
		"own key": func(c *cache.Cache[int, int]) { panic("on purpose, with its own key") },
		"Compute": func(c *cache.Cache[int, int]) {
			c.Compute(1, func(int, bool) (int, cache.Op) { return 7, cache.OpSet })
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := cache.Must(cache.Options[int, int]{})
			c.Set(1, 10)
			defer func() {
				p, _ := recover().(string)
				if v, _ := c.Peek(1); !strings.Contains(p, "own key") || name == "own key" && v != 10 {
					t.Errorf("panic %q, and the value is %d", p, v)
				}
				cache.WantWhole(t, c)
			}()
			c.Compute(1, func(old int, _ bool) (int, cache.Op) {
				change(c)
				return old + 1, cache.OpSet
			})
		})
	}
}

// TestComputeThatIsOvertaken checks that the function of Compute is called again as often
// as others change the key, also if it once changes the key itself.
func TestComputeThatIsOvertaken(t *testing.T) {
	c := cache.Must(cache.Options[int, int]{})
	calls := 0
	got, _ := c.Compute(1, func(old int, _ bool) (int, cache.Op) {
		if calls++; calls == 1 {
			c.Set(1, 10)
		} else if calls < 20 {
			done := make(chan struct{})
			go func() { c.Set(1, 10*calls); close(done) }()
			<-done
		}
		return old + 1, cache.OpSet
	})
	if got != 191 || calls != 20 {
		t.Errorf("%d after %d calls, want 191 after 20", got, calls)
	}
}

// TestComputeAfterChanges checks after which changes Compute calls its function again.
func TestComputeAfterChanges(t *testing.T) {
	from := cache.Must(cache.Options[int, int]{})
	from.Set(1, 20)
	file := saved(t, from)
	for name, test := range map[string]struct {
		limit  int
		change func(*cache.Cache[int, int])
		calls  int
	}{
		"nothing":           {10, func(*cache.Cache[int, int]) {}, 1},
		"other keys":        {1000, func(c *cache.Cache[int, int]) { setOthers(c, 500) }, 1},
		"a Set":             {10, func(c *cache.Cache[int, int]) { c.Set(1, 5) }, 2},
		"a Set that evicts": {10, func(c *cache.Cache[int, int]) { c.Del(1); setOthers(c, 10); c.Set(1, 5) }, 2},
		"an eviction":       {10, func(c *cache.Cache[int, int]) { setOthers(c, 20) }, 2},
		"a Del":             {10, func(c *cache.Cache[int, int]) { c.Del(1) }, 2},
		"a Clear":           {10, func(c *cache.Cache[int, int]) { c.Clear() }, 2},
		"a load":            {10, func(c *cache.Cache[int, int]) { c.Del(1); c.Take(1, func() (int, error) { return 5, nil }) }, 2},
		"a division":        {10, func(c *cache.Cache[int, int]) { c.SplitInto(2) }, 1},
		"one after a Set":   {10, func(c *cache.Cache[int, int]) { c.Set(1, 5); c.SplitInto(2) }, 2},
		"a divided shard":   {10, func(c *cache.Cache[int, int]) { c.SplitInto(2); c.Set(1, 5) }, 2},
		"an expiry":         {10, func(c *cache.Cache[int, int]) { time.Sleep(time.Hour); setOthers(c, 10); c.Set(1, 5) }, 2},
		"a Restore": {10, func(c *cache.Cache[int, int]) {
			time.Sleep(time.Hour)
			if n, err := c.Restore(bytes.NewReader(file), decodeInts); n != 1 || err != nil {
				t.Errorf("Restore = %d, %v", n, err)
			}
		}, 2},
	} {
		computeBeside(t, name, test.limit, test.change, test.calls)
	}
}

func computeBeside(t *testing.T, name string, limit int, change func(*cache.Cache[int, int]), want int) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.Must(cache.Options[int, int]{Limit: limit, Expire: time.Minute})
		defer c.Close(t.Context())
		c.Set(1, 10)
		calls, last := 0, 0
		got, _ := c.Compute(1, func(old int, _ bool) (int, cache.Op) {
			last = old
			if calls++; calls == 1 {
				change(c)
			}
			return old + 1, cache.OpSet
		})
		if v, ok := c.Peek(1); calls != want || got != last+1 || got != v || !ok {
			t.Errorf("%s: %d after %d calls, want %d after %d; and then %d, %t", name, got, calls, last+1, want, v, ok)
		}
		cache.WantWhole(t, c)
	})
}

func setOthers(c *cache.Cache[int, int], n int) {
	for i := range n {
		c.Set(1000+i, i)
	}
}

// TestComputeOfWhatExpires checks that a result computed from a value that expires
// meanwhile is not stored.
func TestComputeOfWhatExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.Must(cache.Options[int, int]{})
		c.SetWithExpire(1, 10, time.Second)
		calls := 0
		v, ok := c.Compute(1, func(old int, found bool) (int, cache.Op) {
			if calls++; calls == 1 {
				time.Sleep(time.Minute)
			}
			return old + 1, cache.OpSet
		})
		if v != 1 || !ok || calls != 2 {
			t.Errorf("Compute = %d, %v after %d calls, want 1 after 2", v, ok, calls)
		}
	})
}
