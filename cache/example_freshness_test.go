package cache_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

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

// The database is weak: until it is well again, few loads run, and old values stand in for longer.
func ExampleCache_Tune() {
	users := cache.Must(cache.Options[int, string]{
		Expire: time.Minute,
		Grace:  time.Minute,
	})
	now, err := users.Tune(func(t *cache.Tuning) {
		t.MaxLoads = 10
		t.Grace = time.Hour
	})
	fmt.Println(now.Expire, now.Grace, now.MaxLoads, err)
	_, err = users.Tune(func(t *cache.Tuning) { t.Patience = 100 }) // without a unit
	fmt.Println(err)
	// Output:
	// 1m0s 1h0m0s 10 <nil>
	// cache: Patience is 100ns: want at least 1ms; was a unit forgotten, as in 100*time.Second?
}

// A response says how old it is, and a client may ask for a page that is no older than it says.
func ExampleCache_TakeEntry() {
	pages := cache.Must(cache.Options[string, string]{
		Expire: time.Minute,
		Grace:  time.Hour,
		Ages:   true,
		Load: func(_ context.Context, url string, _ *cache.Load[string]) (string, error) {
			return "page of " + url, nil
		},
	})
	page, err := pages.TakeEntry(context.Background(), "/news", cache.Within(10*time.Second), nil)
	fmt.Println(page.Value, err)
	fmt.Println("Age:", int(page.Age.Seconds()))
	if page.InGrace {
		fmt.Println(`Warning: 110 - "Response is Stale"`)
	}
	// Output:
	// page of /news <nil>
	// Age: 0
}

// This caller has just written the row, and must not see it as it was before.
func ExampleWithin() {
	rows := map[int]string{1: "Ada"}
	users := cache.Must(cache.Options[int, string]{
		Load: func(_ context.Context, id int, _ *cache.Load[string]) (string, error) { return rows[id], nil },
	})
	ctx := context.Background()
	users.Fetch(ctx, 1)
	rows[1] = "Ada Lovelace" // by another program

	fmt.Println(users.Fetch(ctx, 1))
	user, err := users.TakeEntry(ctx, 1, cache.Within(0), nil)
	fmt.Println(user.Value, err)
	// Output:
	// Ada <nil>
	// Ada Lovelace <nil>
}
