package migration

import (
	"testing"

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

// must returns the value of a constructor that may fail.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
