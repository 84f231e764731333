package cache_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

func Example() {
	users, err := cache.New(cache.Options[int, string]{
		Name:   "users",
		Limit:  10_000,
		Expire: time.Hour,
		Jitter: 0.05,
	})
	if err != nil {
		panic(err)
	}
	load := func() (string, error) { fmt.Println("loading"); return "ann", nil }
	for range 2 {
		name, err := users.Take(1, load)
		fmt.Println(name, err)
	}
	fmt.Printf("hit ratio %.0f %%\n", 100*users.Stats().HitRatio())
	// Output:
	// loading
	// ann <nil>
	// ann <nil>
	// hit ratio 50 %
}

func ExampleNew_badOptions() {
	_, err := cache.New(cache.Options[string, int]{Limit: -1, Expire: 60 * 60})
	fmt.Println(err)
	// Output:
	// cache: Limit is -1: want the most entries, or 0 for no limit
	// cache: Expire is 3.6µs: want at least 1ms; was a unit forgotten, as in 3600*time.Second?
}

func ExampleCache_Get() {
	c := cache.Must(cache.Options[string, int]{})
	c.Set("a", 1)
	fmt.Println(c.Get("a"))
	fmt.Println(c.Get("b"))
	// Output:
	// 1 true
	// 0 false
}

func ExampleCache_Set() {
	c := cache.Must(cache.Options[string, int]{Limit: 2})
	for i, key := range []string{"a", "b", "c"} {
		c.Set(key, i)
	}
	_, ok := c.Get("a")
	fmt.Println(c.Len(), "entries, a is there:", ok)
	// Output: 2 entries, a is there: false
}

func ExampleCache_SetWithExpire() {
	c := cache.Must(cache.Options[string, int]{Expire: time.Hour})
	c.SetWithExpire("soon", 1, time.Millisecond)
	c.SetWithExpire("never", 2, 0)
	time.Sleep(2 * time.Millisecond)
	fmt.Println(c.Get("soon"))
	fmt.Println(c.Get("never"))
	// Output:
	// 0 false
	// 2 true
}

// A keep-alive: a session that is not touched in time is reported.
func ExampleCache_Touch() {
	var silent sync.WaitGroup
	silent.Add(1)
	sessions := cache.Must(cache.Options[string, int]{
		Expire: time.Hour,
		OnRemove: func(e cache.Event[string, int]) {
			if e.Cause == cache.Expired {
				fmt.Println(e.Key, "went silent")
				silent.Done()
			}
		},
	})
	sessions.Set("ann", 1)
	fmt.Println("beat:", sessions.Touch("ann", time.Hour))
	sessions.Touch("ann", 10*time.Millisecond) // the last chance
	silent.Wait()
	fmt.Println("beat:", sessions.Touch("ann", time.Hour))
	// Output:
	// beat: true
	// ann went silent
	// beat: false
}

func ExampleCache_Take() {
	c := cache.Must(cache.Options[string, int]{})
	_, err := c.Take("a", func() (int, error) { return 0, errors.New("no database") })
	fmt.Println(err)
	fmt.Println(c.Take("a", func() (int, error) { return 1, nil }))
	fmt.Println(c.Take("a", func() (int, error) { panic("not called") }))
	// Output:
	// no database
	// 1 <nil>
	// 1 <nil>
}

func ExampleCache_TakeCtx() {
	c := cache.Must(cache.Options[string, int]{})
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond) // real time: a caller in a hurry
	defer cancel()
	_, err := c.TakeCtx(ctx, "slow", func(ctx context.Context) (int, error) {
		<-ctx.Done() // ends when nobody waits any more
		return 0, ctx.Err()
	})
	fmt.Println(err)
	// Output: context deadline exceeded
}

func ExampleCache_TakeMany() {
	users := cache.Must(cache.Options[int, string]{})
	users.Set(1, "ann")
	query := func(_ context.Context, ids []int) (map[int]string, error) {
		fmt.Println("SELECT id, name FROM users WHERE id IN", ids)
		return map[int]string{2: "bob"}, nil
	}
	for range 2 {
		names, err := users.TakeMany(context.Background(), []int{1, 2, 3}, query)
		fmt.Println(names, err)
	}
	// Output:
	// SELECT id, name FROM users WHERE id IN [2 3]
	// map[1:ann 2:bob] <nil>
	// SELECT id, name FROM users WHERE id IN [3]
	// map[1:ann 2:bob] <nil>
}

func ExampleCache_GetOrSet() {
	c := cache.Must(cache.Options[string, int]{})
	fmt.Println(c.GetOrSet("a", 1))
	fmt.Println(c.GetOrSet("a", 2))
	// Output:
	// 1 false
	// 1 true
}

func ExampleCache_Compute() {
	c := cache.Must(cache.Options[string, int]{})
	count := func(old int, found bool) (int, cache.Op) { return old + 1, cache.OpSet }
	c.Compute("visits", count)
	fmt.Println(c.Compute("visits", count))

	reset := func(old int, found bool) (int, cache.Op) { return 0, cache.OpDelete }
	fmt.Println(c.Compute("visits", reset))
	// Output:
	// 2 true
	// 0 false
}

func ExampleCache_All() {
	c := cache.Must(cache.Options[string, int]{})
	c.Set("a", 1)
	c.Set("b", 2)
	for key, value := range c.All() {
		if value > 1 {
			c.Del(key)
		}
	}
	fmt.Println(slices.Collect(maps.Keys(maps.Collect(c.All()))))
	// Output: [a]
}

func ExampleCache_Resize() {
	c := cache.Must(cache.Options[int, int]{Limit: 10})
	for i := range 10 {
		c.Set(i, i)
	}
	fmt.Println(c.Resize(3), c.Len())
	fmt.Println(c.Resize(-3))
	// Output:
	// <nil> 3
	// cache: Resize(-3): want a limit from 1 to 2147483647, or 0 for none
}

func ExampleCache_Stats() {
	c := cache.Must(cache.Options[string, int]{Limit: 1})
	before := c.Stats()
	c.Set("a", 1)
	c.Set("b", 2)
	c.Get("a")
	c.Get("b")
	s := c.Stats().Minus(before)
	fmt.Println(s.Hits, "hit,", s.Misses, "miss,", s.Removals.Evicted, "evicted,", s.Entries, "of", s.Limit)
	// Output: 1 hit, 1 miss, 1 evicted, 1 of 1
}

func ExampleCache_Close() {
	c := cache.Must(cache.Options[string, int]{
		OnRemove: func(e cache.Event[string, int]) { fmt.Println(e.Key, e.Value, e.Cause) },
	})
	c.Set("a", 1)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	fmt.Println(c.Close(ctx))
	// Output:
	// a 1 cleared
	// <nil>
}

// Entries can be limited by what they weigh, here the length of the value.
func ExampleOptions_weight() {
	c := cache.Must(cache.Options[string, string]{
		MaxWeight: 10,
		Weigh:     func(_, value string) uint32 { return uint32(len(value)) },
	})
	c.Set("a", "1234")
	c.Set("b", "123456")
	c.Set("c", "12") // one of the others has to go
	s := c.Stats()
	fmt.Println(s.Weight, "of", s.MaxWeight, "in", s.Entries, "entries")
	// Output: 8 of 10 in 2 entries
}

// A load that knows how long its value is good for says so.
func ExampleCache_TakeWith() {
	tokens := cache.Must(cache.Options[string, string]{
		Expire:   time.Minute,
		Timeout:  5 * time.Second, // a load that hangs fails with cache.ErrTimeout
		MaxLoads: 10,              // so that the server is not asked more at once
	})
	token, err := tokens.TakeWith(context.Background(), "billing", func(ctx context.Context, l *cache.Load[string]) (string, error) {
		// Here the server is asked; ctx has the deadline by which callers want an answer.
		token, validFor := "secret", time.Hour
		l.Expire = validFor - time.Minute
		return token, nil
	})
	e, _ := tokens.Entry("billing")
	fmt.Println(token, err, e.TTL.Round(time.Minute))
	// Output: secret <nil> 59m0s
}

// What the database does not have is not asked for again for ten seconds.
func ExampleOptions_negative() {
	notFound := errors.New("no such user")
	users := cache.Must(cache.Options[int, string]{
		Negative: func(err error) time.Duration {
			if errors.Is(err, notFound) {
				return 10 * time.Second
			}
			return 0
		},
	})
	queries := 0
	for range 3 {
		_, err := users.Take(7, func() (string, error) { queries++; return "", notFound })
		fmt.Println(err, queries)
	}
	users.Set(7, "ann") // ends it
	fmt.Println(users.Get(7))
	// Output:
	// no such user 1
	// no such user 1
	// no such user 1
	// ann true
}

// The loader is given once. One call of LoadMany loads what is missing of several keys.
func ExampleCache_Fetch() {
	users := cache.Must(cache.Options[int, string]{
		Load: func(ctx context.Context, id int, l *cache.Load[string]) (string, error) {
			l.Expire = time.Minute // in place of the option Expire
			return fmt.Sprint("user ", id), nil
		},
	})
	fmt.Println(users.Fetch(context.Background(), 7))
	// Output: user 7 <nil>
}

func ExampleCache_FetchMany() {
	names := map[int]string{1: "ann", 2: "bob"}
	users := cache.Must(cache.Options[int, string]{
		LoadMany: func(ctx context.Context, ids []int, loads []*cache.Load[string]) (map[int]string, error) {
			fmt.Println("a query for", ids)
			return names, nil // 3 is left out: it has no value
		},
		Negative: func(err error) time.Duration {
			if errors.Is(err, cache.ErrNotFound) {
				return 10 * time.Second
			}
			return 0
		},
	})
	fmt.Println(users.FetchMany(context.Background(), []int{1, 3}))
	fmt.Println(users.FetchMany(context.Background(), []int{1, 2, 3})) // asks for what it does not know
	// Output:
	// a query for [1 3]
	// map[1:ann] <nil>
	// a query for [2]
	// map[1:ann 2:bob] <nil>
}

// A deploy has changed what prices mean. While the database is slow or down, old ones stand in.
func ExampleCache_ExpireAll() {
	prices := cache.Must(cache.Options[string, int]{
		Grace: time.Hour,
		Load: func(context.Context, string, *cache.Load[int]) (int, error) {
			return 0, errors.New("the database is down")
		},
	})
	prices.Set("tea", 10)
	prices.ExpireAll()
	fmt.Println(prices.Get("tea"))
	fmt.Println(prices.Fetch(context.Background(), "tea"))
	e, _ := prices.Stale("tea")
	fmt.Println(e.Value, e.InGrace)
	// Output:
	// 0 false
	// 10 <nil>
	// 10 true
}

func ExampleCache_ExpireFunc() {
	prices := cache.Must(cache.Options[string, int]{Grace: time.Hour})
	prices.Set("tea:green", 10)
	prices.Set("coffee", 12)
	fmt.Println(prices.ExpireFunc(func(key string, _ int) bool { return strings.HasPrefix(key, "tea:") }))
	// Output: 1
}

func ExampleCache_Coldest() {
	c := cache.Must(cache.Options[string, int]{Limit: 3})
	for i, key := range []string{"a", "b", "c"} {
		c.Set(key, i)
	}
	c.Get("a") // so it is not evicted next
	for key := range c.Coldest() {
		fmt.Println(key)
	}
	// Output:
	// b
	// c
	// a
}

func ExampleCache_Refresh() {
	price := 10
	prices := cache.Must(cache.Options[string, int]{
		Load: func(context.Context, string, *cache.Load[int]) (int, error) { return price, nil },
	})
	prices.Fetch(context.Background(), "tea")
	price = 12
	err := prices.Refresh(context.Background(), "tea") // until it returns, the old price stays
	fmt.Println(err)
	fmt.Println(prices.Get("tea"))
	// Output:
	// <nil>
	// 12 true
}

// Tokens come with a TTL each.
func ExampleWithLoads() {
	tokens := cache.Must(cache.Options[string, string]{})
	found, err := tokens.TakeMany(context.Background(), []string{"billing", "mail"}, cache.WithLoads(
		func(ctx context.Context, missing []string, loads []*cache.Load[string]) (map[string]string, error) {
			values := map[string]string{}
			for i, service := range missing {
				values[service] = "secret of " + service
				loads[i].Expire = time.Duration(i+1) * time.Hour
			}
			return values, nil
		}))
	e, _ := tokens.Entry("mail")
	fmt.Println(found["mail"], err, e.TTL.Round(time.Minute))
	// Output: secret of mail <nil> 2h0m0s
}

// A package that builds on a cache looks first: a hit allocates nothing, also where the function of a
// miss needs variables.
func ExampleFor() {
	users := cache.Must(cache.Options[int, string]{Limit: 100})
	base := cache.For(users)
	user := func(ctx context.Context, id int) (string, error) {
		if name, ok := users.Get(id); ok {
			return name, nil
		}
		return base.Take(ctx, id, func(context.Context, *cache.Load[string]) (string, error) {
			return fmt.Sprint("user ", id), nil
		})
	}
	fmt.Println(user(context.Background(), 7))
	fmt.Println(user(context.Background(), 7))
	s := users.Stats()
	fmt.Println(s.Hits, s.Misses)
	// Output:
	// user 7 <nil>
	// user 7 <nil>
	// 1 1
}
