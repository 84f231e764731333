package acceptance

import (
	"context"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// MaxTick is the longest tick of the expiry driver: no expired entry stays longer.
const MaxTick = time.Second

// New returns a cache with options that must be right.
func New[K comparable, V any](t rapid.TB, o cache.Options[K, V]) *cache.Cache[K, V] {
	t.Helper()
	if o.Load == nil {
		o.Load = loadOfContext
	}
	c, err := cache.New(o)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return c
}

// Numbered returns the n keys prefix0, prefix1, ...
func Numbered(prefix string, n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = prefix + strconv.Itoa(i)
	}
	return keys
}

// Scaled returns n, or a tenth of it with -short.
func Scaled(n int) int {
	if testing.Short() {
		return max(1, n/10)
	}
	return n
}

// Collect returns what All yields and fails on a key that comes twice.
func Collect[K comparable, V any](t rapid.TB, c *cache.Cache[K, V]) map[K]V {
	t.Helper()
	seen := map[K]V{}
	for k, v := range c.All() {
		if _, twice := seen[k]; twice {
			t.Fatalf("All yielded %v twice", k)
		}
		seen[k] = v
	}
	return seen
}

// MustResize resizes a cache to a valid limit, in any goroutine.
func MustResize[K comparable, V any](t rapid.TB, c *cache.Cache[K, V], limit int) {
	t.Helper()
	if err := c.Resize(limit); err != nil {
		t.Errorf("Resize(%d): %v", limit, err)
	}
}

// MustClose closes a cache and waits for as long as that takes.
func MustClose[K comparable, V any](t rapid.TB, c *cache.Cache[K, V]) {
	t.Helper()
	if err := c.Close(context.Background()); err != nil {
		t.Fatalf("Close: %v", err)
	}
}

// WantHit gets a key, which must have a value.
func WantHit[K, V comparable](t rapid.TB, c *cache.Cache[K, V], key K, want V) {
	t.Helper()
	if v, ok := c.Get(key); !ok || v != want {
		t.Fatalf("Get(%v) = %v, %t; want %v, true", key, v, ok, want)
	}
}

// WantMiss gets a key, which must have no value.
func WantMiss[K, V comparable](t rapid.TB, c *cache.Cache[K, V], key K) {
	t.Helper()
	var zero V
	if v, ok := c.Get(key); ok || v != zero {
		t.Fatalf("Get(%v) = %v, %t; want a miss", key, v, ok)
	}
}

// WantLen checks the number of entries.
func WantLen[K comparable, V any](t rapid.TB, c *cache.Cache[K, V], want int) {
	t.Helper()
	if n := c.Len(); n != want {
		t.Fatalf("Len = %d, want %d", n, want)
	}
}

// WantWeightOfContents compares the weight in the statistics with the entries'.
func WantWeightOfContents[K comparable, V any](t rapid.TB, c *cache.Cache[K, V], weigh func(V) uint64) {
	t.Helper()
	var sum uint64
	for _, v := range Collect(t, c) {
		sum += weigh(v)
	}
	if s := c.Stats(); uint64(s.Weight) != sum || uint64(s.Weight) > s.MaxWeight {
		t.Fatalf("weight %d of at most %d, but the entries weigh %d", s.Weight, s.MaxWeight, sum)
	}
}
