package redis_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
	"github.com/redis/rueidis"
)

// instance opens the cache of sessions of one instance of a service.
func instance(ctx context.Context, addr string) (*near.Cache[string, string], error) {
	client, err := redis.New(ctx, redis.Options{
		Client:   rueidis.ClientOption{InitAddress: []string{addr}},
		Prefixes: []string{"session:"},
		Fleet:    "shop", // the same in all instances
	})
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, client.Close)
	return near.New(client, client, near.Options[string, string]{
		Prefix: "session:", Limit: 10_000, Expire: time.Hour, MaxLag: time.Second, Strict: true,
	})
}

// A session is revoked: when Revoke returns, no instance accepts it any more. And what one instance
// has written, another one that is shown the mark has read.
func Example_certain() {
	server, err := redistest.Start() // yours runs somewhere else
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Stop()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	a, err := instance(ctx, server.Addr)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close(ctx)
	b, err := instance(ctx, server.Addr)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close(ctx)

	owner := "Ann" // the database
	fetch := func(context.Context) (string, error) { return owner, nil }
	fmt.Println(b.Take(ctx, "token", fetch))

	owner = "nobody"
	fmt.Println(a.Revoke(ctx, "token"))
	fmt.Println(b.Take(ctx, "token", fetch))

	owner = "Bob"
	if err := a.Del(ctx, "token"); err != nil {
		fmt.Println(err)
		return
	}
	mark, _ := a.Mark(ctx) // text, for a cookie or a header
	fmt.Println(b.TakeSince(ctx, mark, "token", fetch))
	// Ann <nil>
	// <nil>
	// nobody <nil>
	// Bob <nil>
}

// TestExampleCertain is for Example_certain, which cannot skip where there is no redis-server.
//
// Catches: an example that fails.
func TestExampleCertain(t *testing.T) {
	redistest.CheckExample(t, Example_certain, "Ann <nil>\n<nil>\nnobody <nil>\nBob <nil>\n")
}
