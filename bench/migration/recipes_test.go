// Package migration tests what docs/migration.md advises, beside the code of its folders.
package migration

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// want compares a result with what the document says of it.
func want[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// has reports whether a cache has a key.
func has[V any](c *cache.Cache[string, V], key string) bool {
	_, ok := c.Peek(key)
	return ok
}

// move gives a cache, made with other options, the entries of another one, with the time that each
// has left. Keys that have a value there already keep that.
func move[K comparable, V any](from, to *cache.Cache[K, V]) {
	for e := range from.Entries() {
		to.GetOrSetWithExpire(e.Key, e.Value, e.TTL)
	}
}

func TestMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := cache.Must(cache.Options[string, int]{Expire: time.Hour})
		from.Set("an hour", 1)
		from.SetWithExpire("for ever", 1, 0)
		from.Set("newer there", 1)
		time.Sleep(time.Hour / 2)
		to := cache.Must(cache.Options[string, int]{Limit: 10, Expire: time.Minute, Policy: cache.Adaptive})
		to.Set("newer there", 2)
		move(from, to)
		newer, _ := to.Get("newer there")
		want(t, "entries", to.Len(), 3)
		want(t, "value of the newer one", newer, 2)
		time.Sleep(time.Hour/2 - 1)
		want(t, "there until its hour has passed", has(to, "an hour"), true)
		time.Sleep(time.Nanosecond)
		want(t, "there after its hour", has(to, "an hour"), false)
		time.Sleep(1000 * time.Hour)
		want(t, "there for ever", has(to, "for ever"), true)
	})
}

// Idle is one time for all entries: it neither renews their TTLs nor spares those without one. A
// TTL in the value, and a Touch after Get, let each begin anew when it is read.
func TestTouchAfterGet(t *testing.T) {
	type item struct{ ttl time.Duration }
	synctest.Test(t, func(t *testing.T) {
		idle := cache.Must(cache.Options[string, int]{Idle: time.Hour})
		touched := cache.Must(cache.Options[string, item]{})
		get := func(k string) {
			idle.Get(k)
			if i, ok := touched.Get(k); ok {
				touched.Touch(k, i.ttl)
			}
		}
		for k, ttl := range map[string]time.Duration{"a minute": time.Minute, "a day": 24 * time.Hour, "for ever": 0} {
			idle.SetWithExpire(k, 1, ttl)
			touched.SetWithExpire(k, item{ttl}, ttl)
		}
		for range 3 {
			time.Sleep(40 * time.Second)
			get("a minute")
		}
		want(t, "Idle: a minute, read each 40 s", has(idle, "a minute"), false)
		want(t, "Touch: a minute, read each 40 s", has(touched, "a minute"), true)
		time.Sleep(2 * time.Hour)
		want(t, "Touch: a minute, not read", has(touched, "a minute"), false)
		for _, k := range []string{"a day", "for ever"} {
			want(t, "Idle: "+k, has(idle, k), false)
			want(t, "Touch: "+k, has(touched, k), true)
		}
	})
}
