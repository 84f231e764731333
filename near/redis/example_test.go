package redis_test

import (
	"context"
	"fmt"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/redis/rueidis"
)

// A name that is read from the database once, and from memory until somebody changes it.
func ExampleNew() {
	ctx := context.Background()
	client, err := redis.New(ctx, redis.Options{
		Client:   rueidis.ClientOption{InitAddress: []string{"localhost:6379"}},
		Prefixes: []string{"name:"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	names, err := near.New(client, client, near.Options[int, string]{Prefix: "name:", Limit: 10_000, Expire: time.Hour, MaxLag: time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer names.Close(ctx)

	fetch := func(context.Context) (string, error) {
		fmt.Println("asks the database")
		return "Ann", nil
	}
	for range 3 {
		name, err := names.Take(ctx, 1, fetch)
		fmt.Println(name, err)
	}
	// asks the database
	// Ann <nil>
	// Ann <nil>
	// Ann <nil>
}
