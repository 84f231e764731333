// The race detector allocates too.

//go:build !race

package stats

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/stats"
)

const (
	caches = 1000
	most   = 10 << 20 // bytes that /metrics may allocate, and a third of those of stats.json, which has the keys that fail
)

// TestThousandCaches asks for the statistics of a thousand caches that had five minutes of
// traffic, and compares the allocations of an answer with the limit.
func TestThousandCaches(t *testing.T) {
	for _, c := range []struct {
		name string
		cache.Options[int, int]
	}{
		{"plain", cache.Options[int, int]{}},
		{"with all that is counted on request", cache.Options[int, int]{HotKeys: 10, WhatIf: true, Ages: true, OnRemove: func(cache.Event[int, int]) {}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { ask(t, c.Options) })
		})
	}
}

func ask(t *testing.T, o cache.Options[int, int]) {
	h := stats.Handler()
	h.ServeHTTP(&client{header: http.Header{}}, httptest.NewRequest(http.MethodGet, "/stats.json", nil)) // history begins
	o.Name, o.Limit, o.Expire = "users", 100, time.Minute
	var all []*cache.Cache[int, int]
	for range caches {
		all = append(all, cache.Must(o))
	}
	for second := range 61 {
		for n, c := range all {
			use(c, 1000*second+n)
		}
		time.Sleep(5 * time.Second)
	}
	time.Sleep(time.Second) // at the moment of a sample each answer would take another
	for _, target := range []string{"/metrics", "/stats.json?points=4", "/stats.json?points=61"} {
		for _, coding := range []string{"identity", "gzip"} {
			measure(t, h, target, coding)
		}
	}
	for _, c := range all {
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// use gives a cache some of everything: hits, misses of each kind, loads and evictions.
func use(c *cache.Cache[int, int], n int) {
	for i := range 5 {
		key := n + 13*i%(5*i+1)
		c.Get(key)
		c.Set(key, i)
		c.Get(key)
		c.TakeCtx(context.Background(), key+i, func(context.Context) (int, error) {
			if i == 3 {
				return 0, io.EOF
			}
			return i, nil
		})
	}
}

// A client throws answers away.
type client struct {
	header http.Header
	bytes  int
}

func (c *client) Header() http.Header { return c.header }
func (*client) WriteHeader(int)       {}
func (c *client) Write(p []byte) (int, error) {
	c.bytes += len(p)
	return len(p), nil
}

func measure(t *testing.T, h http.Handler, target, coding string) {
	const rounds = 10
	request := httptest.NewRequest(http.MethodGet, target, nil)
	request.Header.Set("Accept-Encoding", coding)
	answer := func() int {
		c := &client{header: http.Header{}}
		h.ServeHTTP(c, request)
		return c.bytes
	}
	size := answer()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range rounds {
		answer()
	}
	runtime.ReadMemStats(&after)
	allocated := (after.TotalAlloc - before.TotalAlloc) / rounds
	t.Logf("%-22s %-8s %9d bytes sent, %9d allocated", target, coding, size, allocated)
	most := uint64(most)
	if target != "/metrics" {
		most *= 3
	}
	if allocated > most {
		t.Errorf("%s, %s allocates %d bytes for %d caches, want at most %d", target, coding, allocated, caches, most)
	}
	if size < 100*caches && coding == "identity" {
		t.Errorf("%s has %d bytes: of how many caches?", target, size)
	}
}
