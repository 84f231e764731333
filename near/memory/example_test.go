package memory_test

import (
	"context"
	"fmt"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/memory"
)

// A test makes the caches of two instances of its service, as in the fleet.
func Example() {
	ctx := context.Background()
	store := memory.New()
	options := near.Options[int, string]{Prefix: "users:"}
	one, err := near.New(store, store, options)
	if err != nil {
		panic(err)
	}
	defer one.Close(ctx)
	other, err := near.New(store, store, options)
	if err != nil {
		panic(err)
	}
	defer other.Close(ctx)
	store.WaitFor(2)

	name := "ann" // in the database
	load := func(context.Context) (string, error) { return name, nil }
	fmt.Println(one.Take(ctx, 7, load))
	fmt.Println(other.Take(ctx, 7, load))
	name = "bob"
	fmt.Println(one.Del(ctx, 7))
	fmt.Println(other.Take(ctx, 7, load))
	// Output:
	// ann <nil>
	// ann <nil>
	// <nil>
	// bob <nil>
}
