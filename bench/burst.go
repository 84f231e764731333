package main

import (
	"fmt"
	"runtime"
	"time"

	"github.com/pinwheel-cache/pinwheel/bench/libs"
	"github.com/pinwheel-cache/pinwheel/bench/load"
)

// runBurst lets a million entries expire at one moment, and measures Get and Set in the two
// seconds after it. Their times include two readings of the clock: see null.
func runBurst[K libs.Key, V any](l libs.Library, k kind[K, V], short bool) ([]figure, error) {
	n, window := million(short), 2*time.Second
	if short {
		window /= 20
	}
	const used = 1000
	entries := k.entries(0, n+used)
	config := libs.Config[K, V]{Capacity: 2 * n, TTL: time.Hour}
	first := k.new(l)(config)
	if _, ok := first.(libs.TTLSetter[K, V]); !ok {
		return nil, nil
	}
	keys, values := entries.Keys[n:], entries.Values[n:]
	cache, due, err := inTime(lifetime(first, entries, n), func(due time.Time) libs.Cache[K, V] {
		cache := k.new(l)(config)
		setter := cache.(libs.TTLSetter[K, V])
		for i, key := range entries.Keys[:n] {
			setter.SetTTL(key, entries.Values[i], time.Until(due))
		}
		for i, key := range keys {
			cache.Set(key, values[i])
		}
		return cache
	})
	if err != nil {
		return nil, err
	}
	time.Sleep(time.Until(due))
	gets, sets := new(latencies), new(latencies)
	end := due.Add(window)
	for i, now := 0, time.Now(); now.Before(end); i++ {
		cache.Get(keys[i%used])
		now = gets.add(now)
		cache.Set(keys[i%used], values[i%used])
		now = sets.add(now)
	}
	return append(append(gets.figures("Get"), sets.figures("Set")...), leftOf(cache, used)...), nil
}

// inTime fills caches until one has all entries before they expire: after a life, which is four
// times as long for each one.
func inTime[K libs.Key, V any](life time.Duration, fill func(due time.Time) libs.Cache[K, V]) (libs.Cache[K, V], time.Time, error) {
	const tries = 4
	for range tries {
		due := time.Now().Add(life)
		cache := fill(due)
		libs.Settle(cache)
		runtime.GC()
		if time.Until(due) > 0 {
			return cache, due, nil
		}
		libs.Close(cache)
		life *= 4
	}
	return nil, time.Time{}, fmt.Errorf("storing the entries took too long, %d times", tries)
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

// leftOf returns how many expired entries a cache still holds, if it can count them.
func leftOf(cache any, live int) []figure {
	if c, ok := cache.(libs.Lener); ok {
		return []figure{{"left", float64(max(c.Len()-live, 0))}}
	}
	return nil
}
