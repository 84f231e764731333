package near_test

import (
	"context"
	"fmt"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/near"
)

// Two instances of a service share a store. In a program that is near/redis.
func Example() {
	ctx := context.Background()
	shared := newServer()
	options := near.Options[int, string]{
		Name: "users", Limit: 10_000, Prefix: "users:",
		Expire:      time.Hour,        // in the store
		LocalExpire: 10 * time.Minute, // here, at most
		MaxLag:      time.Second,
	}
	one, err := near.New(shared, shared, options)
	if err != nil {
		panic(err)
	}
	defer one.Close(ctx)
	other, err := near.New(shared, shared, options)
	if err != nil {
		panic(err)
	}
	defer other.Close(ctx)

	name := "ann" // in the database
	load := func(context.Context) (string, error) { fmt.Println("the database is asked"); return name, nil }
	fmt.Println(one.Take(ctx, 7, load))
	fmt.Println(other.Take(ctx, 7, load))

	name = "bob"
	if err := one.Del(ctx, 7); err != nil { // after the database was written
		panic(err)
	}
	fmt.Println(one.Take(ctx, 7, load))
	// Output:
	// the database is asked
	// ann <nil>
	// ann <nil>
	// the database is asked
	// bob <nil>
}

// A permission is asked for anew, where a second of MaxLag is too long.
func ExampleCache_TakeWithin() {
	ctx := context.Background()
	shared := newServer()
	may, err := near.New(shared, shared, near.Options[string, bool]{Prefix: "may-pay:"})
	if err != nil {
		panic(err)
	}
	defer may.Close(ctx)
	load := func(context.Context) (bool, error) { return true, nil }
	fmt.Println(may.Take(ctx, "ann", load))          // to show a button
	fmt.Println(may.TakeWithin(ctx, "ann", 0, load)) // to pay
	// Output:
	// true <nil>
	// true <nil>
}

// Everything of a tenant is removed at once.
func ExampleCache_DelGroup() {
	ctx := context.Background()
	shared := newServer()
	type user struct{ Name, Tenant string }
	users, err := near.New(shared, shared, near.Options[int, user]{
		Prefix: "users:",
		Groups: func(_ int, u user) []string { return []string{"tenant:" + u.Tenant} },
	})
	if err != nil {
		panic(err)
	}
	defer users.Close(ctx)
	tenant := "7" // in the database
	load := func(context.Context) (user, error) { return user{"ann", tenant}, nil }
	fmt.Println(users.Take(ctx, 1, load))

	tenant = "8"
	if err := users.DelGroup(ctx, "tenant:7"); err != nil { // after the database was written
		panic(err)
	}
	fmt.Println(users.Take(ctx, 1, load))
	// Output:
	// {ann 7} <nil>
	// {ann 8} <nil>
}

// A store that is not one of bytes, behind a cache that a source keeps true.
func ExampleLocal() {
	ctx := context.Background()
	source := newServer()
	prices := map[string]int{"tea": 3}
	local, err := near.NewLocal[string, int](source, near.LocalOptions[string, int]{MaxLag: time.Minute})
	if err != nil {
		panic(err)
	}
	defer local.Close(ctx)
	price, err := local.Take(ctx, "tea", func(_ context.Context, l *cache.Load[int]) (int, error) {
		price, ok := prices["tea"]
		if !ok {
			l.NotFound, l.KeepError = true, time.Second
			return 0, near.ErrNotFound
		}
		l.Expire = time.Minute
		return price, nil
	})
	fmt.Println(price, err)
	// Output: 3 <nil>
}
