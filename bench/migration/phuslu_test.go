package migration

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/phuslu/lru"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// phuslu/lru rounds the size up until all shards have the same part of it.
func TestPhusluLimit(t *testing.T) {
	l := lru.NewLRUCache[int, int](100, lru.WithShards[int, int](32))
	p := pinwheel(t, cache.Options[int, int]{Limit: 100})
	for key := range 10_000 {
		l.Set(key, 1)
		p.Set(key, 1)
	}
	want(t, "phuslu/lru: entries with a size of 100", l.Len(), 4*32)
	want(t, "ours: entries with a Limit of 100", p.Len(), 100)
}

// TTLs are whole seconds there, rounded down, and a negative one is for ever. What has expired is
// there for Peek and Len until Get finds it.
func TestPhusluTTL(t *testing.T) {
	const short = 999 * time.Millisecond
	// Outside of the bubble, as the goroutine of its clock never ends.
	l := lru.NewTTLCache[string, int](10, lru.WithShards[string, int](1))
	l.Set("short", 1, short)
	l.Set("negative", 1, -time.Hour)
	_, _, ok := l.Peek("short")
	want(t, "phuslu/lru: Peek finds a TTL of 999 ms", ok, true)
	want(t, "phuslu/lru: Len", l.Len(), 2)
	want(t, "phuslu/lru: Get finds a TTL of 999 ms", has(l.Get("short")), false)
	want(t, "phuslu/lru: Len after Get", l.Len(), 1)
	want(t, "phuslu/lru: there after a negative TTL", has(l.Get("negative")), true)

	synctest.Test(t, func(t *testing.T) {
		p := pinwheel(t, cache.Options[string, int]{})
		p.SetWithExpire("short", 1, short)
		p.SetWithExpire("negative", 1, -time.Hour)
		want(t, "ours: there after a negative TTL", has(p.Get("negative")), false)
		time.Sleep(short - 1)
		want(t, "ours: Get before 999 ms have passed", has(p.Get("short")), true)
		time.Sleep(time.Nanosecond)
		want(t, "ours: Peek after 999 ms", has(p.Peek("short")), false)
	})
}

// For a new key, Set returns the value that it evicts there. Swap returns that of the key.
func TestPhusluSetReturnsEvicted(t *testing.T) {
	l := lru.NewLRUCache[string, int](1, lru.WithShards[string, int](1))
	p := pinwheel(t, cache.Options[string, int]{Limit: 1})
	l.Set("a", 1)
	p.Set("a", 1)
	there, replaced := l.Set("b", 2)
	here, ok := p.Swap("b", 2)
	want(t, "phuslu/lru: value that Set returns for a new key", there, 1)
	want(t, "phuslu/lru: replaced", replaced, false)
	want(t, "ours: value that Swap returns for a new key", here, 0)
	want(t, "ours: had one", ok, false)
}

// A load stores what it read before a deletion there.
func TestPhusluDeleteDuringLoad(t *testing.T) {
	l := lru.NewLRUCache[string, int](10)
	_, err, _ := l.GetOrLoad(t.Context(), "k", func(context.Context, string) (int, error) {
		l.Delete("k")
		return 1, nil
	})
	want(t, "phuslu/lru: error of GetOrLoad", err, nil)
	want(t, "phuslu/lru: there after Delete", has(l.Get("k")), true)

	p := pinwheel(t, cache.Options[string, int]{})
	must(p.TakeCtx(t.Context(), "k", func(context.Context) (int, error) {
		p.Del("k")
		return 1, nil
	}))
	want(t, "ours: there after Del", has(p.Get("k")), false)
}
