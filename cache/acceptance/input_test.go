package acceptance

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// Promise 7: bad input is an error that says what and why, from New. Keys that cannot be hashed
// panic before any lock is taken; keys unequal to themselves are never stored. Odd TTLs of methods
// are cache.TestModel, options that are accepted cache.FuzzOptions.
func TestPromise7BadInput(t *testing.T) {
	// Catches: an option that is not validated (a limit of -1 that means "none", a TTL of 3600 ns).
	for name, bad := range badOptions() {
		t.Run(name, func(t *testing.T) {
			c, err := cache.New(bad.options)
			if err == nil || c != nil {
				t.Fatalf("New = %v, %v; want nil and an error", c, err)
			}
			if !errors.Is(err, cache.ErrArgument) {
				t.Errorf("the error %q is no ErrArgument", err)
			}
			for _, word := range bad.words {
				if !strings.Contains(strings.ToLower(err.Error()), word) {
					t.Errorf("the error %q does not say %q", err, word)
				}
			}
			if got := Recovered(func() { cache.Must(bad.options) }); got == nil {
				t.Error("Must does not panic")
			}
		})
	}

	Bubble(t, "keys that cannot be hashed", unhashableKeys)
	Bubble(t, "keys unequal to themselves", unequalKeys)
	Bubble(t, "keys of every type", equalKeys)
}

type badOption struct {
	options cache.Options[string, int]
	words   []string // that the error must contain, in lower case
}

func badOptions() map[string]badOption {
	type O = cache.Options[string, int]
	weigh := func(string, int) uint32 { return 1 }
	return map[string]badOption{
		"negative Limit":       {O{Limit: -1}, []string{"limit", "-1"}},
		"Jitter 1":             {O{Jitter: 1}, []string{"jitter", "1"}},
		"Jitter negative":      {O{Jitter: -0.1}, []string{"jitter", "-0.1"}},
		"Jitter NaN":           {O{Jitter: math.NaN()}, []string{"jitter", "nan"}},
		"Jitter infinite":      {O{Jitter: math.Inf(1)}, []string{"jitter", "inf"}},
		"Expire without unit":  {O{Expire: 60 * 60}, []string{"expire", "3.6µs"}},
		"Expire just under":    {O{Expire: time.Millisecond - 1}, []string{"expire", "999.999µs"}},
		"Expire negative":      {O{Expire: -time.Second}, []string{"expire", "-1s"}},
		"Idle without unit":    {O{Idle: 30}, []string{"idle", "30ns"}},
		"Idle negative":        {O{Idle: -time.Second}, []string{"idle", "-1s"}},
		"MaxWeight, no Weigh":  {O{MaxWeight: 10}, []string{"maxweight", "weigh"}},
		"negative Workers":     {O{Workers: -1}, []string{"workers", "-1"}},
		"negative HotKeys":     {O{HotKeys: -1}, []string{"hotkeys is -1"}},
		"HotKeys too many":     {O{HotKeys: 1001}, []string{"hotkeys is 1001"}},
		"WhatIf, no Limit":     {O{WhatIf: true}, []string{"whatif is set without limit"}},
		"WhatIf by weight":     {O{WhatIf: true, Limit: 10, MaxWeight: 100, Weigh: weigh}, []string{"whatif is set", "maxweight"}},
		"Policy out of range":  {O{Policy: 100}, []string{"policy"}},
		"two mistakes at once": {O{Limit: -1, Jitter: 2}, nil},
	}
}

// Catches: a panic of the runtime's hash under a lock, after which the cache hangs.
func unhashableKeys(t *testing.T) {
	type pair struct{ a, b any }
	c := New(t, cache.Options[any, int]{Limit: 10})
	keys := map[string]any{
		"[]int":          []int{1},
		"map[string]int": map[string]int{},
		"func()":         func() {},
		"pair":           pair{1, []int{}},
		"[2]interface":   [2]any{1, map[int]int{}},
	}
	for _, size := range []int{0, 5} {
		for i := range size {
			c.Set(i, i)
		}
		for name, key := range keys {
			for method, call := range keyedCalls(c, key) {
				got := Recovered(call)
				if msg := fmt.Sprint(got); got == nil || !strings.Contains(msg, name) && !strings.Contains(msg, "[]int") && !strings.Contains(msg, "map[") {
					t.Errorf("%s of %s: panic %v, want one that names the type", method, name, got)
				}
				c.Set("after", 1)
				WantHit(t, c, any("after"), 1)
				c.Del("after")
			}
		}
	}
	Recovered(func() { // no load of the first key goes on
		cache.For(c).TakeMany(t.Context(), []any{"before", []int{1}}, func(context.Context, []any, []*cache.Load[int]) (map[any]int, error) { return nil, nil })
	})
	if v, err := c.Take("before", func() (int, error) { return 1, nil }); v != 1 || err != nil {
		t.Errorf("Take = %d, %v", v, err)
	}
	c.Clear()
	WantLen(t, c, 0)
	MustClose(t, c)
}

// keyedCalls returns a call of every method that takes a key.
func keyedCalls[K comparable](c *cache.Cache[K, int], key K) map[string]func() {
	all, keyed := methods(c, key), map[string]func(){}
	for name := range strings.FieldsSeq("Get Peek Entry Set SetWithExpire GetOrSet GetOrSetWithExpire Swap Compute ComputeWithExpire " +
		"Touch Take TakeCtx TakeWith TakeMany Del GetAndDel") {
		keyed[name] = all[name]
	}
	return keyed
}

// Catches: entries that can never be found, replaced or deleted: each Set leaks one.
func unequalKeys(t *testing.T) {
	neverStored(t, math.NaN())
	neverStored(t, any(math.NaN()))
	neverStored(t, complex(1, math.NaN()))
	neverStored(t, [2]float64{1, math.NaN()})
	neverStored(t, struct {
		name string
		x    float32
	}{"x", float32(math.NaN())})
	neverStored(t, struct{ x any }{math.NaN()})
	full := New(t, cache.Options[float64, int]{Limit: 1})
	full.Set(1, 1)
	full.Set(math.NaN(), 2)
	if v, ok := full.Peek(1); v != 1 || !ok || full.Len() != 1 {
		t.Errorf("a key that is not equal to itself has evicted another: %d, %t, %d entries", v, ok, full.Len())
	}
}

func neverStored[K comparable](t *testing.T, key K) {
	t.Helper()
	var rec Recorder[K, int]
	c := New(t, cache.Options[K, int]{OnRemove: rec.Add})
	for range 3 {
		for name, call := range keyedCalls(c, key) {
			if got := Recovered(call); got != nil {
				t.Errorf("%s(%v): panic %v", name, key, got)
			}
			if n := c.Len(); n != 0 {
				t.Fatalf("%s(%v) stored: Len = %d", name, key, n)
			}
		}
	}
	for want := range 2 {
		if v, err := c.Take(key, func() (int, error) { return want, nil }); v != want || err != nil {
			t.Errorf("Take(%v) = %d, %v; want each call to fetch", key, v, err)
		}
	}
	if v, loaded := c.GetOrSet(key, 5); v != 5 || loaded {
		t.Errorf("GetOrSet(%v) = %d, %t; want 5, false", key, v, loaded)
	}
	if events := rec.Take(); len(events) != 0 {
		t.Errorf("reported %v", events)
	}
	MustClose(t, c)
}

// Catches: a hash or comparison of bytes where == decides (0 and -0, strings, interfaces, padding).
func equalKeys(t *testing.T) {
	sameKey(t, 0.0, math.Copysign(0, -1), 1)
	sameKey(t, complex(0, 0), complex(math.Copysign(0, -1), 0), 1i)
	sameKey[any](t, 1, 1, int64(1))
	sameKey[any](t, nil, nil, 0)
	type padded struct {
		a byte
		b int64
		_ byte
		s string
	}
	sameKey(t, padded{a: 1, b: 2, s: "s"}, padded{a: 1, b: 2, s: "s"}, padded{a: 2, b: 2, s: "s"})
	sameKey(t, [2]string{"a", "b"}, [2]string{"a", "b"}, [2]string{"ab", ""})
	x, y := 1, 1
	sameKey(t, &x, &x, &y)

	units := New(t, cache.Options[struct{}, struct{}]{})
	units.Set(struct{}{}, struct{}{})
	units.Set(struct{}{}, struct{}{})
	WantLen(t, units, 1)
}

func sameKey[K comparable](t *testing.T, key, same, other K) {
	t.Helper()
	c := New(t, cache.Options[K, int]{})
	c.Set(key, 1)
	c.Set(other, 2)
	WantHit(t, c, same, 1)
	c.Set(same, 3)
	WantHit(t, c, key, 3)
	WantHit(t, c, other, 2)
	WantLen(t, c, 2)
}
