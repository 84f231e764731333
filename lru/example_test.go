package lru_test

import (
	"fmt"
	"hash/maphash"

	"github.com/pinwheel-cache/pinwheel/lru"
)

func ExampleNew() {
	names := []string{"ann", "bob", "cid"} // in slots 0 to 2
	order := lru.New(len(names))
	for slot := range names {
		order.Insert(uint32(slot))
	}

	order.Mark(0) // ann was used: eviction passes her over once
	victim, _ := order.Evict()
	fmt.Println("evict", names[victim])

	for slot := range order.All() {
		fmt.Println(names[slot])
	}
	// Output:
	// evict bob
	// cid
	// ann
}

// A store of two names that evicts by an adaptive order.
func ExampleNewAdaptive() {
	seed := maphash.MakeSeed()
	names := make([]string, 2)
	slots := map[string]uint32{}
	order := lru.NewAdaptive(len(names), func(slot uint32) uint64 {
		return maphash.String(seed, names[slot])
	})

	ask := func(name string) {
		slot, ok := slots[name]
		if ok {
			order.Mark(slot)
			return
		}
		if slot = uint32(order.Len()); int(slot) == len(names) {
			slot, _ = order.Evict()
			fmt.Println("evict", names[slot])
			delete(slots, names[slot])
		}
		names[slot], slots[name] = name, slot // before Insert, which hashes the name
		order.Insert(slot)
	}
	for _, name := range []string{"ann", "bob", "ann", "cid"} {
		ask(name)
	}
	// Output: evict bob
}
