package cache_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// A limit of requests in a window of time: the first one of a client begins its window,
// and those that follow leave its end where it is.
func ExampleCache_ComputeWithExpire() {
	requests := cache.Must(cache.Options[string, int]{Expire: time.Minute})
	allow := func(client string) bool {
		n, _ := requests.Compute(client, func(n int, _ bool) (int, cache.Op) { return n + 1, cache.OpSet })
		return n <= 2
	}
	fmt.Println(allow("ann"), allow("ann"), allow("ann"))

	// A window of its own for those who pay.
	requests.ComputeWithExpire("bob", time.Second, func(n int, _ bool) (int, cache.Op) { return n + 1, cache.OpSet })
	e, _ := requests.Entry("bob")
	fmt.Println(e.TTL <= time.Second)
	// Output:
	// true true false
	// true
}

func ExampleCache_Entries() {
	c := cache.Must(cache.Options[string, int]{Expire: time.Hour})
	c.Set("a", 1)
	for e := range c.Entries() {
		fmt.Println(e.Key, e.Value, e.TTL.Round(time.Minute))
	}
	// Output: a 1 1h0m0s
}

func ExampleCache_GetAndDel() {
	c := cache.Must(cache.Options[string, string]{})
	c.Set("code", "4711")
	fmt.Println(c.GetAndDel("code")) // good for one login
	fmt.Println(c.GetAndDel("code"))
	// Output:
	// 4711 true
	//  false
}

func ExampleCache_GetOrSetWithExpire() {
	locks := cache.Must(cache.Options[string, string]{})
	owner, taken := locks.GetOrSetWithExpire("job", "worker 1", time.Minute)
	fmt.Println(owner, taken)
	owner, taken = locks.GetOrSetWithExpire("job", "worker 2", time.Minute)
	fmt.Println(owner, taken)
	// Output:
	// worker 1 false
	// worker 1 true
}

func ExampleCache_Wait() {
	c := cache.Must(cache.Options[string, int]{
		OnRemove: func(e cache.Event[string, int]) { fmt.Println(e.Key, e.Cause) },
	})
	c.Set("a", 1)
	c.Del("a")
	fmt.Println(c.Wait(context.Background()))
	// Output:
	// a deleted
	// <nil>
}

// Removal by tag, tenant or prefix: what the key and the value say.
func ExampleCache_DelFunc() {
	type user struct{ tenant string }
	users := cache.Must(cache.Options[string, user]{})
	users.Set("ann", user{"acme"})
	users.Set("bob", user{"acme"})
	users.Set("eve", user{"initech"})
	fmt.Println(users.DelFunc(func(_ string, u user) bool { return u.tenant == "acme" }))
	fmt.Println(users.DelFunc(func(name string, _ user) bool { return strings.HasPrefix(name, "e") }))
	// Output:
	// 2
	// 1
}

// At most two calls a minute for each client.
func ExampleCache_ComputeEntry() {
	calls := cache.Must(cache.Options[string, int]{Limit: 100_000})
	allow := func(client string) (ok bool, retryAfter time.Duration) {
		count, _ := calls.ComputeEntry(client, time.Minute, func(n int, _ bool) (int, cache.Op) { return n + 1, cache.OpSet })
		return count.Value <= 2, count.TTL
	}
	for range 3 {
		ok, retryAfter := allow("10.0.0.1")
		fmt.Println(ok, retryAfter.Round(time.Minute))
	}
	// Output:
	// true 1m0s
	// true 1m0s
	// false 1m0s
}
