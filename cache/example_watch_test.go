package cache_test

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// A program finds out which keys are asked for most, to treat them better: to warm
// them up, or to ask what wants them so often.
func ExampleCache_HotKeys() {
	c := cache.Must(cache.Options[string, int]{Limit: 1000, HotKeys: 2})
	for i := range 200_000 {
		switch i % 10 {
		case 0, 1, 2, 3:
			c.Get("front page")
		case 4:
			c.Get("about")
		default:
			c.Get(fmt.Sprint("article ", i%1000))
		}
	}
	for _, k := range c.HotKeys() {
		fmt.Printf("%s: about %.0f0 %% of all gets\n", k.Key, 10*k.Share)
	}
	// Output:
	// front page: about 40 % of all gets
	// about: about 10 % of all gets
}

// The cache keeps to its limit, and what it evicts was stored just before: it is too
// small, or its TTL much too long.
func ExampleOptions_ages() {
	c := cache.Must(cache.Options[int, string]{Limit: 100, Expire: time.Hour, Ages: true})
	for key := range 1000 {
		c.Set(key, "value")
	}
	evicted := c.Stats().EvictedAge
	fmt.Println(evicted.Count(), "values evicted, less than a minute old:", evicted.Quantile(0.99) < time.Minute)
	// Output: 900 values evicted, less than a minute old: true
}

// A limit of 100 is of no use for a loop over 150 keys. Double that would be.
func ExampleOptions_whatIf() {
	c := cache.Must(cache.Options[int, string]{Limit: 100, WhatIf: true})
	for i := range 15_000 {
		key := i % 150
		if _, ok := c.Get(key); !ok {
			c.Set(key, "value")
		}
	}
	s := c.Stats()
	double, ok := s.WhatIfHitRatio(s.WhatIf.Double)
	fmt.Printf("hit ratio %.2f, with double the limit %.2f, %v\n", s.HitRatio(), double, ok)
	// Output: hit ratio 0.00, with double the limit 0.99, true
}

// What a cache is asked for, in a minute, for cmd/cachesim.
func ExampleCache_Record() {
	users := cache.Must(cache.Options[int, string]{Name: "users", Limit: 1000})

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var file bytes.Buffer // or a file
	go func() {
		for range 3 {
			users.Take(42, func() (string, error) { return "ann", nil })
		}
		cancel() // that was enough
	}()
	if err := users.Record(ctx, &file, 1); err != nil {
		fmt.Println(err)
	}
	fmt.Println(file.String()[:20])
	// Output: pinwheel recording 1
}
