package migration

import (
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// pinwheel returns a cache that is closed when the test ends.
func pinwheel[K comparable, V any](t *testing.T, o cache.Options[K, V]) *cache.Cache[K, V] {
	t.Helper()
	c, err := cache.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(t.Context()) })
	return c
}

// want compares a result with what the document says of it.
func want[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// has reports whether a lookup found something.
func has[V any](_ V, ok bool) bool { return ok }

// value returns what a lookup found.
func value[V any](v V, _ bool) V { return v }

// setWithTTL stores as the document says for libraries in which a TTL of 0 is the default and
// a negative one for ever.
func setWithTTL[K comparable, V any](p *cache.Cache[K, V], k K, v V, d time.Duration) {
	if d == 0 {
		p.Set(k, v)
	} else {
		p.SetWithExpire(k, v, max(d, 0))
	}
}
