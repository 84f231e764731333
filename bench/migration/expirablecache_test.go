package migration

import (
	"testing"
	"testing/synctest"
	"time"

	expirablecache "github.com/go-pkgz/expirable-cache/v3"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// Nothing there runs in the background: what has expired stays, is counted, and is found by
// all but Values, until a DeleteExpired. Get returns it, with false.
func TestExpirableCacheKeepsExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := expirablecache.NewCache[string, int]().WithTTL(time.Minute)
		p := pinwheel(t, cache.Options[string, int]{Expire: time.Minute})
		e.Add("k", 7)
		p.Set("k", 7)
		time.Sleep(time.Hour)
		want(t, "expirable-cache: value of Get", value(e.Get("k")), 7)
		want(t, "expirable-cache: Get", has(e.Get("k")), false)
		want(t, "expirable-cache: Contains", e.Contains("k"), true)
		want(t, "expirable-cache: Len", e.Len(), 1)
		want(t, "ours: value of Get", value(p.Get("k")), 0)
		want(t, "ours: Len", p.Len(), 0)
		e.DeleteExpired()
		want(t, "expirable-cache: Len after DeleteExpired", e.Len(), 0)
	})
}

// A TTL of 0 is that of the cache there; here it means for ever.
func TestExpirableCacheTTLOfZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := expirablecache.NewCache[string, int]().WithTTL(time.Minute)
		p := pinwheel(t, cache.Options[string, int]{Expire: time.Minute})
		e.Set("k", 1, 0)
		p.SetWithExpire("k", 1, 0)
		time.Sleep(time.Hour)
		want(t, "expirable-cache: after its TTL", has(e.Get("k")), false)
		want(t, "ours: after the TTL of the options", has(p.Get("k")), true)
	})
}

// Without WithLRU a read is no use of an entry, and a store is.
func TestExpirableCacheReadsAreNoUse(t *testing.T) {
	e := expirablecache.NewCache[string, int]().WithMaxKeys(2)
	p := pinwheel(t, cache.Options[string, int]{Limit: 2})
	for _, k := range []string{"a", "b"} {
		e.Add(k, 1)
		p.Set(k, 1)
	}
	e.Get("a")
	p.Get("a")
	e.Add("c", 1)
	p.Set("c", 1)
	want(t, "expirable-cache has", left(e.Contains, "a", "b", "c"), "b c")
	want(t, "ours has", left(func(k string) bool { return has(p.Peek(k)) }, "a", "b", "c"), "a c")
}

// A replaced value reaches OnRemove, and not WithOnEvicted.
func TestExpirableCacheReplaced(t *testing.T) {
	evicted := 0
	e := expirablecache.NewCache[string, int]().WithOnEvicted(func(string, int) { evicted++ })
	removed := make(chan cache.Cause, 1)
	p := pinwheel(t, cache.Options[string, int]{OnRemove: func(e cache.Event[string, int]) { removed <- e.Cause }})
	for _, v := range []int{1, 2} {
		e.Add("k", v)
		p.Set("k", v)
	}
	want(t, "expirable-cache: calls", evicted, 0)
	want(t, "ours", <-removed, cache.Replaced)
	p.Del("k")
	<-removed
}
