package relay_test

import (
	"context"
	"fmt"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/memory"
	"github.com/pinwheel-cache/pinwheel/near/relay"
)

// Somebody changes a row, and tells nobody. In a program the log is that of near/postgres, and the store near/redis.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	log, shared := newDatabase(), memory.New()
	go relay.Run(ctx, log, shared, relay.Options{})
	truth := relay.Follow(log, shared, shared)
	names, err := near.New(truth, truth, near.Options[int, string]{Prefix: "k:", MaxLag: time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer names.Close(ctx)

	name := "Ann" // in the database
	take := func() {
		fmt.Println(names.Take(ctx, 1, func(context.Context) (string, error) { return name, nil }))
	}
	take()
	name = "Bob"
	log.write("k:1")
	time.Sleep(time.Second) // MaxLag
	take()
	// Output:
	// Ann <nil>
	// Bob <nil>
}
