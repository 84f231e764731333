package main

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/pinwheel-cache/pinwheel/bench/cputime"
	"github.com/pinwheel-cache/pinwheel/bench/libs"
	"github.com/pinwheel-cache/pinwheel/bench/load"
)

// An expiry is a million entries that expire one after the other: from start on, evenly over
// the time spread.
type expiry struct {
	n             int
	start         time.Time
	ttl           time.Duration // for libraries with one TTL for all entries
	spread, after time.Duration // and how long to wait for the last one
}

func newExpiry(short bool) *expiry {
	if short {
		return &expiry{n: million(short), ttl: 500 * time.Millisecond, spread: 400 * time.Millisecond, after: 200 * time.Millisecond}
	}
	return &expiry{n: million(short), ttl: 6 * time.Second, spread: 4 * time.Second, after: 10 * time.Second}
}

// due returns when entry i expires.
func (e *expiry) due(i int) time.Time {
	return e.start.Add(time.Duration(float64(e.spread) * float64(i) / float64(e.n)))
}

// alive returns how many entries have not expired at a time.
func (e *expiry) alive(at time.Time) float64 {
	gone := float64(at.Sub(e.start)) / float64(e.spread)
	return float64(e.n) * (1 - min(max(gone, 0), 1))
}

// makeExpiring returns a cache with all entries when the first one expires, or nil if the
// library has no TTLs.
func makeExpiring[K libs.Key, V any](e *expiry, l libs.Library, k kind[K, V], entries load.Entries[K, V]) (libs.Cache[K, V], error) {
	config := libs.Config[K, V]{Capacity: 2 * e.n, TTL: e.ttl}
	cache := k.new(l)(config)
	if cache == nil {
		return nil, nil
	}
	e.start = time.Now().Add(max(e.ttl, lifetime(k.new(l)(config), entries, e.n)))
	fillExpiring(e, cache, entries)
	libs.Settle(cache)
	runtime.GC()
	if late := time.Since(e.start); late > 0 {
		return nil, fmt.Errorf("storing %d entries took %v too long", e.n, late)
	}
	time.Sleep(time.Until(e.start))
	return cache, nil
}

// fillExpiring stores the entries: in random order with TTLs of their own, or, if all have
// one TTL, in order, each that long before it expires.
func fillExpiring[K libs.Key, V any](e *expiry, cache libs.Cache[K, V], entries load.Entries[K, V]) {
	if setter, ok := cache.(libs.TTLSetter[K, V]); ok {
		for _, i := range rand.Perm(e.n) {
			setter.SetTTL(entries.Keys[i], entries.Values[i], time.Until(e.due(i)))
		}
	} else {
		for i, key := range entries.Keys {
			if wait := time.Until(e.due(i)) - e.ttl; wait > time.Millisecond {
				time.Sleep(wait)
			}
			cache.Set(key, entries.Values[i])
		}
	}
}

// runExpiry measures how late unread entries are removed, and the processor time for it. The
// mean lateness is the number of overdue entries, integrated over time and divided by the
// number of entries.
func runExpiry[K libs.Key, V any](l libs.Library, k kind[K, V], short bool) ([]figure, error) {
	e := newExpiry(short)
	entries := k.entries(0, e.n)
	cache, err := makeExpiring(e, l, k, entries)
	if cache == nil {
		return nil, err
	}
	before := cputime.Used()
	late, end := 0.0, e.start.Add(e.spread+e.after)
	lener, counts := cache.(libs.Lener)
	for last, left := time.Now(), e.n; left > 0 && last.Before(end); {
		time.Sleep(20 * time.Millisecond)
		now, were := time.Now(), left
		if counts {
			left = lener.Len()
		}
		middle := last.Add(now.Sub(last) / 2)
		late += (float64(were+left)/2 - e.alive(middle)) * now.Sub(last).Seconds()
		last = now
	}
	figures := []figure{{"CPU ns/entry", float64((cputime.Used() - before).Nanoseconds()) / float64(e.n)}}
	if counts {
		figures = append(figures, figure{"mean lateness ms", late * 1000 / float64(e.n)}, figure{"left", float64(lener.Len())})
	}
	return figures, nil
}

// lifetime returns a TTL that ends after n entries are stored. To estimate it, it stores some
// in a cache that is not used again.
func lifetime[K libs.Key, V any](cache libs.Cache[K, V], entries load.Entries[K, V], n int) time.Duration {
	defer libs.Close(cache)
	setter, ok := cache.(libs.TTLSetter[K, V])
	if !ok {
		return 0
	}
	began := time.Now()
	for i, key := range entries.Keys[:n/20] {
		setter.SetTTL(key, entries.Values[i], time.Hour)
	}
	return 40*time.Since(began) + time.Duration(n)*2*time.Microsecond // twice as long, and for the rest
}
