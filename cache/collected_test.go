package cache_test

import (
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

// TestUnreferencedTellsWhatExpires checks that a cache that nobody holds stays until
// OnRemove was called for all entries that wait to expire, and is then collected.
func TestUnreferencedTellsWhatExpires(t *testing.T) {
	var told atomic.Int32
	w := func() weak.Pointer[cache.Cache[int, int]] {
		c := cache.Must(cache.Options[int, int]{OnRemove: func(cache.Event[int, int]) { told.Add(1) }})
		for k := range 100 {
			c.SetWithExpire(k, k, 300*time.Millisecond)
		}
		c.Set(-1, 0) // never expires, and is not told
		return weak.Make(c)
	}()
	if !settle.Collected(func() bool { return told.Load() == 100 }) {
		t.Errorf("OnRemove was told of %d values of 100", told.Load())
	}
	if !settle.Collected(func() bool { return w.Value() == nil }) {
		t.Error("then it is not collected")
	}
}

// TestEmptiedIsCollected checks that a cache with OnRemove whose entries were removed, or have no
// TTL any more, is collected before those would have expired.
func TestEmptiedIsCollected(t *testing.T) {
	for name, empty := range map[string]func(c *cache.Cache[int, int]){
		"Del":      func(c *cache.Cache[int, int]) { c.Del(1); c.Del(2) },
		"Clear":    func(c *cache.Cache[int, int]) { c.Clear() },
		"Touch":    func(c *cache.Cache[int, int]) { c.Touch(1, 0); c.Touch(2, 0) },
		"Set":      func(c *cache.Cache[int, int]) { c.SetWithExpire(1, 1, 0); c.SetWithExpire(2, 1, 0) },
		"eviction": func(c *cache.Cache[int, int]) { c.Set(3, 0); c.Set(4, 0) },
		"expiry":   func(c *cache.Cache[int, int]) { c.Touch(1, time.Millisecond); c.Touch(2, time.Millisecond) },
		"division": func(c *cache.Cache[int, int]) { c.SplitInto(4); c.Clear() },
	} {
		w := func() weak.Pointer[cache.Cache[int, int]] {
			c := cache.Must(cache.Options[int, int]{Limit: 2, OnRemove: func(cache.Event[int, int]) {}})
			c.SetWithExpire(1, 1, time.Hour)
			c.SetWithExpire(2, 1, time.Hour)
			empty(c)
			return weak.Make(c)
		}()
		if !settle.Collected(func() bool { return w.Value() == nil }) {
			t.Errorf("%s: not collected", name)
		}
	}
}
