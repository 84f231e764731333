package main

import (
	"time"

	"github.com/pinwheel-cache/pinwheel/bench/libs"
	"github.com/pinwheel-cache/pinwheel/bench/load"
)

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
