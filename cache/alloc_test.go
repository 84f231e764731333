package cache_test

import (
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// TestHotPathsDoNotAllocate counts the allocations of Get, Set, Touch and Take,
// also with a TTL, at the limit, with 20-byte keys, and while the cache is watched.
func TestHotPathsDoNotAllocate(t *testing.T) {
	o := cache.Options[string, *int]{Limit: 1000, Expire: time.Hour, Jitter: 0.1}
	t.Run("plain", func(t *testing.T) { hotPathsDoNotAllocate(t, o) })
	t.Run("watched", func(t *testing.T) { hotPathsDoNotAllocate(t, cache.WithExtras(o)) })
}

func hotPathsDoNotAllocate(t *testing.T, o cache.Options[string, *int]) {
	limit := o.Limit
	c := cache.Must(o)
	keys := make([]string, 4*limit)
	for i := range keys {
		keys[i] = "a key of twenty byte" + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676))
		c.Set(keys[i], nil)
	}
	next := 0
	key := func() string { next++; return keys[next%len(keys)] }
	value := new(int)
	for name, f := range map[string]func(){
		"Get":            func() { c.Get(key()) },
		"Peek":           func() { c.Peek(key()) },
		"Set, evicting":  func() { c.Set(key(), value) },
		"Set again":      func() { c.Set(keys[0], value) },
		"SetWithExpire":  func() { c.SetWithExpire(key(), value, time.Minute) },
		"Touch later":    func() { c.Set(keys[0], nil); c.Touch(keys[0], 2*time.Hour) },
		"Touch sooner":   func() { c.Set(keys[0], nil); c.Touch(keys[0], time.Minute) },
		"Del and Set":    func() { c.Del(keys[0]); c.Set(keys[0], value) },
		"GetOrSet":       func() { c.GetOrSet(key(), value) },
		"Compute":        func() { c.Compute(keys[0], func(*int, bool) (*int, cache.Op) { return value, cache.OpSet }) },
		"Len":            func() { c.Len() },
		"a miss of Take": func() { _, _ = c.Take(key(), func() (*int, error) { return value, nil }) },
		"a hit of Take":  func() { c.Set(keys[0], value); _, _ = c.Take(keys[0], func() (*int, error) { panic(t) }) },
	} {
		if n := testing.AllocsPerRun(2*limit, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
