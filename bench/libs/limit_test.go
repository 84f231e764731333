package libs

import (
	"math/rand/v2"
	"testing"

	"github.com/pinwheel-cache/pinwheel/bench/load"
)

// TestLimit compares a limit with a map and a list of the keys by age.
func TestLimit(t *testing.T) {
	const capacity, keys = 100, 300
	t.Run("uint64", func(t *testing.T) {
		testLimit(t, newLimitUint64(Config[uint64, uint64]{Capacity: capacity}), load.Uint64s(0, keys), load.Uint64s(keys, keys).Values, capacity)
	})
	t.Run("string", func(t *testing.T) {
		testLimit(t, newLimitString(Config[string, *uint64]{Capacity: capacity}), load.Strings(0, keys), load.Strings(keys, keys).Values, capacity)
	})
}

func testLimit[K Key, V comparable](t *testing.T, c Cache[K, V], e load.Entries[K, V], others []V, capacity int) {
	want := map[K]V{}
	var ages []K
	random := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		i := random.IntN(len(e.Keys))
		key, value := e.Keys[i], e.Values[i]
		if random.IntN(2) == 0 {
			value = others[i]
		}
		if _, ok := want[key]; !ok {
			if ages = append(ages, key); len(ages) > capacity {
				delete(want, ages[0])
				ages = ages[1:]
			}
		}
		want[key] = value
		c.Set(key, value)
		i = random.IntN(len(e.Keys))
		got, ok := c.Get(e.Keys[i])
		if w, live := want[e.Keys[i]]; ok != live || got != w {
			t.Fatalf("Get(%v) = %v, %v; want %v, %v", e.Keys[i], got, ok, w, live)
		}
	}
}
