package near_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/memory"
)

// Two instances of a service share a store. In a program that is near/redis.
func Example() {
	ctx := context.Background()
	shared := memory.New()
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

// An auditor looks whether the source keeps its word. The page, metrics and the log have what it finds.
func Example_audit() {
	shared := memory.New()
	users, err := near.New(shared, shared, near.Options[int, string]{Name: "users", Audit: 1000})
	if err != nil {
		panic(err)
	}
	defer users.Close(context.Background())
	fmt.Println(users.Stats().Near.Audits.Violations)
	// Output: 0
}

// Names is a service. It depends on cache.Loading, so it can be given a cache in the process, one that
// agrees with those of other instances, or in a test a fake.
type Names struct {
	names cache.Loading[int, string]
}

func (n Names) Greet(ctx context.Context, id int) (string, error) {
	name, err := n.names.Fetch(ctx, id)
	return "hello " + name, err
}

func ExampleCache_Fetch() {
	ctx := context.Background()
	loader := cache.Options[int, string]{
		Limit: 10_000,
		Load: func(_ context.Context, id int, _ *cache.Load[string]) (string, error) {
			return map[int]string{7: "ann"}[id], nil // from the database
		},
	}
	local, err := cache.New(loader)
	if err != nil {
		panic(err)
	}
	defer local.Close(ctx)
	store := memory.New() // in a program that is near/redis
	shared, err := near.New(store, store, near.Options[int, string]{Prefix: "names:", Cache: loader})
	if err != nil {
		panic(err)
	}
	defer shared.Close(ctx)

	for _, names := range []cache.Loading[int, string]{local, shared} {
		fmt.Println(Names{names}.Greet(ctx, 7))
	}
	// Output:
	// hello ann <nil>
	// hello ann <nil>
}

// A page may show a balance of a second ago; who spends it wants that of now.
func ExampleCache_TakeWithin() {
	ctx := context.Background()
	store := memory.New() // in a program that is near/redis
	balances, err := near.New(store, store, near.Options[string, int]{Prefix: "balances:", MaxLag: time.Second})
	if err != nil {
		panic(err)
	}
	defer balances.Close(ctx)
	fetch := func(context.Context) (int, error) { return 7, nil } // from the database
	fmt.Println(balances.Take(ctx, "ann", fetch))
	fmt.Println(balances.TakeWithin(ctx, "ann", 0, fetch))
	// Output:
	// 7 <nil>
	// 7 <nil>
}

// A group that changes often: the keys of its values have its generation in them, which is a value of another cache. To
// remove the group is to revoke one key, however many values it has; what was loaded before is never asked for again.
func ExampleCache_Revoke_group() {
	ctx := context.Background()
	store := memory.New() // in a program that is near/redis
	generations, err := near.New(store, store, near.Options[string, string]{Prefix: "generations:"})
	if err != nil {
		panic(err)
	}
	defer generations.Close(ctx)
	prices, err := near.New(store, store, near.Options[string, int]{Prefix: "prices:", Expire: time.Hour})
	if err != nil {
		panic(err)
	}
	defer prices.Close(ctx)
	inDatabase := 7
	price := func(shop, article string) (int, error) {
		generation, err := generations.Take(ctx, shop, func(context.Context) (string, error) { return rand.Text(), nil })
		if err != nil {
			return 0, err
		}
		return prices.Take(ctx, shop+":"+generation+":"+article, func(context.Context) (int, error) { return inDatabase, nil })
	}
	fmt.Println(price("north", "tea"))
	inDatabase = 8
	fmt.Println(generations.Revoke(ctx, "north"))
	fmt.Println(price("north", "tea"))
	// Output:
	// 7 <nil>
	// <nil>
	// 8 <nil>
}

// A store that is not one of bytes, behind a cache that a source keeps true.
func ExampleLocal() {
	ctx := context.Background()
	source := memory.New()
	prices := map[string]int{"tea": 3}
	local, err := near.NewLocal[string, int](source, near.LocalOptions[string, int]{MaxLag: time.Minute})
	if err != nil {
		panic(err)
	}
	defer local.Close(ctx)
	price, err := local.Take(ctx, "tea", func(_ context.Context, l *cache.Load[int]) (int, error) {
		price, ok := prices["tea"]
		if !ok {
			return 0, near.KeepError(near.ErrNotFound, time.Second)
		}
		l.Expire = time.Minute
		return price, nil
	})
	fmt.Println(price, err)
	// Output: 3 <nil>
}
