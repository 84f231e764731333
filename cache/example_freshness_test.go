package cache_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// The database fails when the value has expired. It stands in all the same.
func ExampleOptions_grace() {
	c := cache.Must(cache.Options[string, string]{
		Expire:   10 * time.Millisecond,
		Refresh:  0.8,                    // loaded anew after 8 ms, if somebody asks
		Grace:    time.Hour,              // as long as that, an old value is better than none
		Patience: 200 * time.Millisecond, // but a new one is worth waiting for so long
	})
	ctx := context.Background()
	load := func(err error) func(context.Context) (string, error) {
		return func(context.Context) (string, error) { return "Ada", err }
	}
	c.TakeCtx(ctx, "user 1", load(nil))
	time.Sleep(20 * time.Millisecond)

	fmt.Println(c.Get("user 1"))
	fmt.Println(c.TakeCtx(ctx, "user 1", load(errors.New("the database is down"))))
	fmt.Println(c.Stats().HitsInGrace)
	// Output:
	//  false
	// Ada <nil>
	// 1
}
