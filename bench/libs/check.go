package libs

import (
	"fmt"
	"time"

	"github.com/pinwheel-cache/pinwheel/bench/load"
)

// Check checks that the adaptors of a library find stored entries and keep the capacity.
func Check(l Library) error {
	err := check(l, l.Uint64, load.Uint64s)
	if err == nil {
		err = check(l, l.String, load.Strings)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", l.Name, err)
	}
	return nil
}

func check[K Key, V any](l Library, make New[K, V], entries func(first, n int) load.Entries[K, V]) error {
	const capacity = 14_000
	cache := make(Config[K, V]{Capacity: capacity, TTL: time.Hour})
	if cache == nil || l.Name == "null" {
		return nil
	}
	defer Close(cache)
	if err := checkGet(l, cache, entries(0, 1000)); err != nil {
		return err
	}
	more := entries(1000, 2*capacity)
	for i, key := range more.Keys {
		cache.Set(key, more.Values[i])
	}
	Settle(cache)
	c, ok := cache.(Lener)
	if !ok || l.Unbounded {
		return nil
	}
	// Some round up in each shard, and a capacity in bytes is not exact.
	if n := c.Len(); n > capacity*11/10 || n < capacity/2 {
		return fmt.Errorf("%d entries after %d Sets, want about %d", n, 2*capacity, capacity)
	}
	return nil
}

// checkGet stores entries, for which there is room, and looks for them.
func checkGet[K Key, V any](l Library, cache Cache[K, V], e load.Entries[K, V]) error {
	missing := 0
	for i, key := range e.Keys {
		cache.Set(key, e.Values[i])
		if l.Deferred {
			Settle(cache)
		}
		value, ok := cache.Get(key)
		if !ok {
			missing++
		} else if number(value) != number(e.Values[i]) {
			return fmt.Errorf("Get(%v) = %d after Set of %d", key, number(value), number(e.Values[i]))
		}
	}
	if missing > 0 && !l.Deferred || missing > len(e.Keys)/100 {
		return fmt.Errorf("%d of %d Gets right after Set found nothing", missing, len(e.Keys))
	}
	return nil
}

// number returns the number that a value is or points to.
func number(value any) uint64 {
	if p, ok := value.(*uint64); ok {
		return *p
	}
	return value.(uint64)
}
