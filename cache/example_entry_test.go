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
	left, _ := requests.TTL("bob")
	fmt.Println(left <= time.Second)
	// Output:
	// true true false
	// true
}

func ExampleCache_Entry() {
	c := cache.Must(cache.Options[string, int]{})
	c.SetWithExpire("a", 1, time.Hour)
	e, ok := c.Entry("a")
	fmt.Println(e.Value, e.TTL > 59*time.Minute, ok)
	// Output: 1 true true
}

func ExampleCache_TTL() {
	c := cache.Must(cache.Options[string, int]{Expire: time.Hour})
	c.Set("a", 1)
	left, ok := c.TTL("a")
	fmt.Println(left.Round(time.Minute), ok)
	// Output: 1h0m0s true
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

func ExampleCache_Swap() {
	c := cache.Must(cache.Options[string, int]{})
	fmt.Println(c.Swap("leader", 1))
	fmt.Println(c.Swap("leader", 2))
	// Output:
	// 0 false
	// 1 true
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

func ExampleCache_DelExpired() {
	c := cache.Must(cache.Options[string, int]{})
	c.SetWithExpire("a", 1, time.Nanosecond)
	time.Sleep(time.Microsecond)
	fmt.Println(c.DelExpired(), c.Len())
	// Output: 1 0
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

func ExampleCache_Closed() {
	c := cache.Must(cache.Options[string, int]{})
	_ = c.Close(context.Background())
	fmt.Println(c.Closed())
	// Output: true
}

func ExampleCache_ResizeWeight() {
	c := cache.Must(cache.Options[string, string]{
		MaxWeight: 10,
		Weigh:     func(_, value string) uint32 { return uint32(len(value)) },
	})
	c.Set("a", "12345")
	c.Set("b", "12345")
	fmt.Println(c.ResizeWeight(5), c.Len())
	// Output: <nil> 1
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

// At most three requests of a user in a minute: the first one begins the minute, and each of the
// others is told how long to wait.
func ExampleCache_ComputeEntry() {
	requests := cache.Must(cache.Options[string, int]{Limit: 100_000})
	allow := func(user string) (wait time.Duration, ok bool) {
		e, _ := requests.ComputeEntry(user, time.Minute, func(n int, _ bool) (int, cache.Op) {
			return n + 1, cache.OpSet
		})
		if e.Value > 3 {
			return e.TTL, false
		}
		return 0, true
	}
	for range 3 {
		fmt.Println(allow("ada"))
	}
	wait, ok := allow("ada")
	fmt.Println(ok, wait > 50*time.Second && wait <= time.Minute)
	fmt.Println(allow("bob"))
	// Output:
	// 0s true
	// 0s true
	// 0s true
	// false true
	// 0s true
}
