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
	c.DelExpired() // does not wait for the next tick
	fmt.Println(c.Len())
	// Output: 0
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
