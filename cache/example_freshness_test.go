package cache_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// A caller who pays gets no old price, and a caller in a hurry waits for a new one for a moment.
func ExampleCache_TakeEntry() {
	prices := cache.Must(cache.Options[string, int]{
		Expire: time.Millisecond,
		Grace:  time.Hour,
		Load: func(context.Context, string, *cache.Load[int]) (int, error) {
			return 0, errors.New("down")
		},
	})
	ctx := context.Background()
	prices.Set("tea", 3)
	time.Sleep(5 * time.Millisecond)

	e, err := prices.TakeEntry(ctx, "tea", cache.Call{Patience: time.Second}, nil)
	fmt.Println(e.Value, e.TTL < 0, err)
	_, err = prices.TakeEntry(ctx, "tea", cache.Call{NoGrace: true}, nil)
	fmt.Println(err)
	// Output:
	// 3 true <nil>
	// down
}

// While the database is down, old values are loaded anew every half minute.
func ExampleOptions_pause() {
	c := cache.Must(cache.Options[string, int]{
		Expire: time.Millisecond,
		Grace:  time.Hour,
		Pause:  func(failures int) time.Duration { return 30 * time.Second },
	})
	c.Set("tea", 3)
	time.Sleep(5 * time.Millisecond)
	loads := 0
	for range 3 {
		c.Take("tea", func() (int, error) { loads++; return 0, errors.New("down") })
	}
	fmt.Println(loads)
	// Output: 1
}

// After a deployment all prices may be wrong, and the service behind them is not up yet: the old
// ones stand in until it is. After a Clear there would be none.
func ExampleCache_ExpireAll() {
	c := cache.Must(cache.Options[string, int]{
		Expire:   time.Hour,
		Grace:    10 * time.Minute,
		Patience: time.Second, // for the new price; without Patience the first Take returns the old one
	})
	ctx := context.Background()
	load := func(price int, err error) func(context.Context) (int, error) {
		return func(context.Context) (int, error) { return price, err }
	}
	c.Set("tea", 3)
	c.Set("coffee", 4)

	c.ExpireAll()
	fmt.Println(c.TakeCtx(ctx, "tea", load(0, errors.New("not up yet"))))
	fmt.Println(c.TakeCtx(ctx, "coffee", load(5, nil)))
	// Output:
	// 3 <nil>
	// 5 <nil>
}

// A message says that the price has changed. It is loaded anew, but an old price is better than
// none.
func ExampleCache_Expire() {
	c := cache.Must(cache.Options[string, int]{Expire: time.Hour, Grace: 10 * time.Minute, Patience: time.Second})
	c.Set("tea", 3)

	fmt.Println(c.Expire("tea"))
	fmt.Println(c.Get("tea")) // only the Takes find it
	fmt.Println(c.Take("tea", func() (int, error) { return 0, errors.New("down") }))
	// Output:
	// true
	// 0 false
	// 3 <nil>
}

// Rates are loaded anew when somebody asks for one that is older than ten milliseconds, and never
// expire: while the service is down, the last one is returned.
func ExampleOptions_refreshAfter() {
	c := cache.Must(cache.Options[string, float64]{RefreshAfter: 10 * time.Millisecond})
	ctx := context.Background()
	loaded := make(chan bool, 1)
	load := func(rate float64, err error) func(context.Context) (float64, error) {
		return func(context.Context) (float64, error) { loaded <- true; return rate, err }
	}
	c.Set("EUR", 1.07)
	time.Sleep(20 * time.Millisecond)

	fmt.Println(c.TakeCtx(ctx, "EUR", load(0, errors.New("down")))) // which is tried in the background
	<-loaded
	fmt.Println(c.Get("EUR"))
	// Output:
	// 1.07 <nil>
	// 1.07 true
}

// An answer says how old it is, whatever its value is.
func ExampleCache_Entry_inGrace() {
	c := cache.Must(cache.Options[string, int]{Expire: time.Millisecond, Grace: time.Hour, Ages: true})
	c.Set("tea", 3)
	time.Sleep(50 * time.Millisecond)

	e, ok := c.Entry("tea") // no load begins
	fmt.Println(e.Value, ok)
	if e.TTL < 0 {
		fmt.Println("Warning: 110 - \"Response is Stale\"")
	}
	fmt.Println(e.Age >= 20*time.Millisecond)
	// Output:
	// 3 false
	// Warning: 110 - "Response is Stale"
	// true
}

// The database fails when the value has expired. It stands in all the same.
func ExampleOptions_grace() {
	c := cache.Must(cache.Options[string, string]{
		Expire:   10 * time.Millisecond,
		Refresh:  0.8,                    // loaded anew after 8 ms, if somebody asks
		Grace:    time.Hour,              // as long as that, an old value is better than none
		Patience: 200 * time.Millisecond, // but a new one is worth waiting for so long
	})
	ctx := context.Background()
	load := func(err error) func(context.Context) (string, error) {
		return func(context.Context) (string, error) { return "Ada", err }
	}
	c.TakeCtx(ctx, "user 1", load(nil))
	time.Sleep(20 * time.Millisecond)

	fmt.Println(c.Get("user 1"))
	fmt.Println(c.TakeCtx(ctx, "user 1", load(errors.New("the database is down"))))
	fmt.Println(c.Stats().HitsInGrace)
	// Output:
	//  false
	// Ada <nil>
	// 1
}

// A loader that is given once: Fetch needs no function, and Refresh loads what is stored, too.
func ExampleCache_Fetch() {
	version := 1
	pages := cache.Must(cache.Options[string, string]{
		Load: func(_ context.Context, key string, _ *cache.Load[string]) (string, error) {
			return fmt.Sprintf("%s, version %d", key, version), nil
		},
	})
	ctx := context.Background()
	fmt.Println(pages.Fetch(ctx, "index"))
	version = 2
	fmt.Println(pages.Fetch(ctx, "index"))
	if err := pages.Refresh(ctx, "index"); err != nil {
		fmt.Println(err)
	}
	fmt.Println(pages.Fetch(ctx, "index"))
	// Output:
	// index, version 1 <nil>
	// index, version 1 <nil>
	// index, version 2 <nil>
}
