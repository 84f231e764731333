package cache

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestComputeThatChangesItsOwnKey checks that Compute panics, and is not called for ever, if its
// function always changes its own key; and that a panic of the function changes nothing.
func TestComputeThatChangesItsOwnKey(t *testing.T) {
	for name, change := range map[string]func(c *Cache[int, int]){
		"Set":     func(c *Cache[int, int]) { c.Set(1, 5) },
		"Del":     func(c *Cache[int, int]) { c.Del(1) },
		"own key": func(c *Cache[int, int]) { panic("on purpose, with its own key") },
		"Compute": func(c *Cache[int, int]) { c.Compute(1, func(int, bool) (int, Op) { return 7, OpSet }) },
	} {
		t.Run(name, func(t *testing.T) {
			c := Must(Options[int, int]{})
			c.Set(1, 10)
			defer func() {
				p, _ := recover().(string)
				if v, _ := c.Peek(1); !strings.Contains(p, "own key") || name == "own key" && v != 10 {
					t.Errorf("panic %q, and the value is %d", p, v)
				}
				wantWhole(t, c)
			}()
			c.Compute(1, func(old int, _ bool) (int, Op) {
				change(c)
				return old + 1, OpSet
			})
		})
	}
}

// TestComputeThatIsOvertaken checks that the function of Compute is called again as often
// as others change the key, also if it once changes the key itself.
func TestComputeThatIsOvertaken(t *testing.T) {
	c := Must(Options[int, int]{})
	calls := 0
	got, _ := c.Compute(1, func(old int, _ bool) (int, Op) {
		if calls++; calls == 1 {
			c.Set(1, 10)
		} else if calls < 20 {
			done := make(chan struct{})
			go func() { c.Set(1, 10*calls); close(done) }()
			<-done
		}
		return old + 1, OpSet
	})
	if got != 191 || calls != 20 {
		t.Errorf("%d after %d calls, want 191 after 20", got, calls)
	}
}

// TestComputeAfterChanges checks after which changes Compute calls its function again.
func TestComputeAfterChanges(t *testing.T) {
	for name, test := range map[string]struct {
		limit  int
		change func(*Cache[int, int])
		calls  int
	}{
		"nothing":           {10, func(*Cache[int, int]) {}, 1},
		"other keys":        {1000, func(c *Cache[int, int]) { setOthers(c, 500) }, 1},
		"a Set":             {10, func(c *Cache[int, int]) { c.Set(1, 5) }, 2},
		"a Set that evicts": {10, func(c *Cache[int, int]) { c.Del(1); setOthers(c, 10); c.Set(1, 5) }, 2},
		"an eviction":       {10, func(c *Cache[int, int]) { setOthers(c, 20) }, 2},
		"a Del":             {10, func(c *Cache[int, int]) { c.Del(1) }, 2},
		"a Clear":           {10, func(c *Cache[int, int]) { c.Clear() }, 2},
		"a load":            {10, func(c *Cache[int, int]) { c.Del(1); c.Take(1, func() (int, error) { return 5, nil }) }, 2},
		"a division":        {10, func(c *Cache[int, int]) { c.splitInto(2) }, 1},
		"one after a Set":   {10, func(c *Cache[int, int]) { c.Set(1, 5); c.splitInto(2) }, 2},
		"a divided shard":   {10, func(c *Cache[int, int]) { c.splitInto(2); c.Set(1, 5) }, 2},
		"an expiry":         {10, func(c *Cache[int, int]) { time.Sleep(time.Hour); setOthers(c, 10); c.Set(1, 5) }, 2},
	} {
		computeBeside(t, name, test.limit, test.change, test.calls)
	}
}

func computeBeside(t *testing.T, name string, limit int, change func(*Cache[int, int]), want int) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[int, int]{Limit: limit, Expire: time.Minute})
		defer c.Close(t.Context())
		c.Set(1, 10)
		calls, last := 0, 0
		got, _ := c.Compute(1, func(old int, _ bool) (int, Op) {
			last = old
			if calls++; calls == 1 {
				change(c)
			}
			return old + 1, OpSet
		})
		if v, ok := c.Peek(1); calls != want || got != last+1 || got != v || !ok {
			t.Errorf("%s: %d after %d calls, want %d after %d; and then %d, %t", name, got, calls, last+1, want, v, ok)
		}
		wantWhole(t, c)
	})
}

func setOthers(c *Cache[int, int], n int) {
	for i := range n {
		c.Set(1000+i, i)
	}
}
