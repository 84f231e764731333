package lru_test

import (
	"fmt"
	"hash/maphash"

	"github.com/pinwheel-cache/pinwheel/lru"
)

var seed = maphash.MakeSeed()

func ExampleOrder() {
	names := []string{"ann", "bob", "cid"} // entry i is in slot i
	var order lru.Order
	order.Resize(len(names))
	for i := range names {
		order.Insert(uint32(i), 0)
	}

	order.Mark(0) // ann was used: eviction passes her over once
	victim, _ := order.Victim()
	fmt.Println("evict", names[victim])
	order.Remove(victim)

	for i := range order.All() {
		fmt.Println(names[i])
	}
	// Output:
	// evict bob
	// cid
	// ann
}

// A cache of three entries that are slots of an array.
func ExampleAdaptive() {
	names := []string{"ann", "bob", "cid"}
	hash := func(name string) uint64 { return maphash.String(seed, name) }
	var order lru.Adaptive
	order.Resize(len(names))
	for i, name := range names {
		order.Insert(uint32(i), hash(name))
	}

	order.Mark(0) // ann was used, and stays
	victim, _ := order.Victim()
	for order.Spare(victim, hash(names[victim])) { // it was evicted before, and came back
		victim, _ = order.Victim()
	}
	fmt.Println("evict", names[victim])
	order.Remove(victim)
	names[victim] = "dan"
	order.Insert(victim, hash("dan"))

	for i := range order.All() {
		fmt.Println(names[i])
	}
	// Output:
	// evict bob
	// cid
	// dan
	// ann
}
