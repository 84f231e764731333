package cache

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"weak"
)

// TestLongKeysAreNotKept checks that what HotKeys keeps is bounded in bytes: keys with much text
// get no counter, and the shares of others are of all gets.
func TestLongKeysAreNotKept(t *testing.T) {
	type pair struct {
		tenant string
		id     any
	}
	synctest.Test(t, func(t *testing.T) {
		long := strings.Repeat("x", longKey)
		texts := Must(Options[string, int]{HotKeys: 20})
		pairs := Must(Options[pair, int]{HotKeys: 20})
		for i := range 5 {
			texts.Get(long)
			texts.Get(long + "x")
			pairs.Get(pair{long, i})
			pairs.Get(pair{"a", long})
		}
		if keys := texts.HotKeys(); len(keys) != 1 || keys[0].Key != long || keys[0].Share != 0.5 {
			t.Errorf("%d keys, want the one with %d bytes, half of all", len(keys), longKey)
		}
		if keys := pairs.HotKeys(); len(keys) != 5 {
			t.Errorf("%d keys, want the five with %d bytes", len(keys), longKey)
		}
	})
}

// TestSlowKeys checks that the page of a cache with HotKeys gets the keys with the slowest
// loads, without the wait for a permit, long keys and loads of several keys.
func TestSlowKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[string, int]{Name: "slow", HotKeys: 20, MaxLoads: 1})
		load := func(key string, takes time.Duration) {
			_, _ = c.Take(key, func() (int, error) { time.Sleep(takes); return 0, nil })
		}
		go load("first", 2*time.Second)
		synctest.Wait()
		load("second", time.Second)
		load(strings.Repeat("x", longKey+1), time.Minute)
		_, _ = c.TakeMany(t.Context(), []string{"third", "fourth"}, func(context.Context, []string) (map[string]int, error) {
			time.Sleep(time.Minute)
			return nil, nil
		})
		got := sourceOf(weak.Make(c)).SlowKeys()
		if len(got) != 2 || got[0].Key != "first" || got[0].Took != 2*time.Second || got[1].Key != "second" || got[1].Took != time.Second {
			t.Errorf("got %v, want first with 2s and second with 1s", got)
		}
		runtime.KeepAlive(c)
	})
}
