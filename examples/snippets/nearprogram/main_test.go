// near/main.go
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/redis/rueidis"
)

func main() {
	ctx := context.Background()
	client, err := redis.New(ctx, redis.Options{
		Client:   rueidis.ClientOption{InitAddress: []string{"127.0.0.1:6379"}},
		Prefixes: []string{"name:"},
	})
	if err != nil {
		log.Fatal(err)
	}
	names, err := near.New(client, client, near.Options[int, string]{Name: "names", Limit: 10_000, Prefix: "name:", Expire: time.Hour})
	if err != nil {
		log.Fatal(err)
	}
	name, err := names.Take(ctx, 1, func(context.Context) (string, error) { return "Ann", nil }) // your database
	fmt.Println(name, err)
}
