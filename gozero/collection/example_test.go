package collection_test

import (
	"context"
	"fmt"
	"time"

	"github.com/zeromicro/go-zero/core/timex"

	"github.com/pinwheel-cache/pinwheel/gozero/collection"
)

func ExampleNewCache() {
	users, err := collection.NewCache(time.Hour, collection.WithLimit(10_000), collection.WithName("users"))
	if err != nil {
		panic(err)
	}
	for range 2 {
		name, err := users.Take("1", func() (any, error) {
			fmt.Println("loading")
			return "ann", nil
		})
		fmt.Println(name, err)
	}
	fmt.Println(users.Len(), "entry")
	fmt.Println(users.Close(context.Background()))

	_, err = collection.NewCache(60 * 60)
	fmt.Println(err)
	// Output:
	// loading
	// ann <nil>
	// ann <nil>
	// 1 entry
	// <nil>
	// cache: Expire is 3.6µs: want at least 1ms; was a unit forgotten, as in 3600*time.Second?
}

func ExampleCache_SetWithExpire() {
	c, _ := collection.NewCache(time.Hour)
	c.SetWithExpire("session", "ann", 10*time.Minute)
	fmt.Println(c.Get("session"))
	c.SetWithExpire("session", "ann", -1) // has expired already
	fmt.Println(c.Get("session"))
	// Output:
	// ann true
	// <nil> false
}

func ExampleNewTimingWheel() {
	closed := make(chan any)
	wheel, err := collection.NewTimingWheel(time.Millisecond, 512, func(key, value any) { closed <- value })
	if err != nil {
		panic(err)
	}
	defer wheel.Stop()

	_ = wheel.SetTimer(1, "first", time.Hour)
	_ = wheel.SetTimer(2, "second", time.Hour)
	_ = wheel.MoveTimer(2, 10*time.Millisecond)
	fmt.Println(<-closed, "timed out")
	_ = wheel.Drain(func(key, value any) { fmt.Println(value, "is left") })
	// Output:
	// second timed out
	// first is left
}

func ExampleNewTimingWheelWithTicker() {
	ticker := timex.NewFakeTicker()
	wheel, err := collection.NewTimingWheelWithTicker(time.Minute, 10, func(key, value any) {
		fmt.Println(key, value)
		ticker.Done()
	}, ticker)
	if err != nil {
		panic(err)
	}
	defer wheel.Stop()

	_ = wheel.SetTimer("tea", "ready", 90*time.Second)
	ticker.Tick()
	fmt.Println("a minute has passed")
	ticker.Tick()
	_ = ticker.Wait(10 * time.Second)
	// Output:
	// a minute has passed
	// tea ready
}
