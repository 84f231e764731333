package heapsize_test

import (
	"fmt"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/cache/heapsize"
)

// A cache that takes at most 64 MB of the heap.
func ExampleWeigh() {
	type user struct {
		Name  string
		Email string
	}
	o := cache.Options[string, *user]{MaxWeight: 64 << 20, Expire: time.Hour}
	o.Weigh = heapsize.Weigh(o) // last, as it depends on the other options
	users, err := cache.New(o)
	if err != nil {
		panic(err)
	}
	users.Set("user:1", &user{Name: "ann", Email: "ann@example.com"})
	fmt.Println(users.Stats().Weight > 100, users.Stats().Weight < 200)
	// Output: true true
}
