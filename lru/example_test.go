package lru_test

import (
	"fmt"

	"github.com/pinwheel-cache/pinwheel/lru"
)

func ExampleOrder() {
	names := []string{"ann", "bob", "cid"} // entry i is in slot i
	var order lru.Order
	order.Resize(len(names))
	for i := range names {
		order.Insert(uint32(i))
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
