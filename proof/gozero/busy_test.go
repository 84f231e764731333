package gozero

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// TestBusyWheel does with our cache what goes wrong in go-zero's when its wheel is
// busy: there it needs luck, so that go-zero's cache is not tried beside it.
func TestBusyWheel(t *testing.T) {
	const keys, second, hour = 2000, time.Second, time.Hour
	newCache := func(t *testing.T) *cache.Cache[int, int] {
		c, err := cache.New(cache.Options[int, int]{})
		must(t, err)
		return c
	}
	readable := func(c *cache.Cache[int, int]) (n int) {
		for key := range keys {
			if _, ok := c.Get(key); ok {
				n++
			}
		}
		return n
	}
	inBubble(t, "keys overwritten while their batch expires are deleted", func(t *testing.T) {
		const rest = 20_000
		c := newCache(t)
		for key := range rest {
			c.SetWithExpire(key, 1, 2*second)
		}
		time.Sleep(2 * second) // the driver wakes up, and at the same time:
		for key := range keys {
			c.SetWithExpire(key, 2, 60*second)
		}
		time.Sleep(10 * second)
		if n := readable(c); n != keys || c.Len() != keys {
			t.Errorf("%d keys readable and %d in all, want %d", n, c.Len(), keys)
		}
		time.Sleep(60 * second)
		synctest.Wait()
		if n := c.Len(); n != 0 {
			t.Errorf("%d keys left after their time", n)
		}
		must(t, c.Close(context.Background()))
	})
	inBubble(t, "a key deleted and set again while the loop is busy lives for ever", func(t *testing.T) {
		const rest = 20_000
		c := newCache(t)
		for key := range rest { // what keeps the loop busy
			c.SetWithExpire(keys+key, 1, 2*second)
		}
		for key := range keys {
			c.SetWithExpire(key, 1, hour)
		}
		time.Sleep(2 * second)
		for key := range keys {
			c.Del(key)
			c.SetWithExpire(key, 2, 2*second)
		}
		if n := readable(c); n != keys {
			t.Errorf("%d of %d keys readable", n, keys)
		}
		time.Sleep(2 * second)
		if n := readable(c); n != 0 {
			t.Errorf("%d keys readable after their time", n)
		}
		time.Sleep(10 * second)
		synctest.Wait()
		if n := c.Len(); n != 0 {
			t.Errorf("%d keys live for ever", n)
		}
		must(t, c.Close(context.Background()))
	})
	inBubble(t, "Del and Set at the same time", func(t *testing.T) {
		c := newCache(t)
		var users sync.WaitGroup
		users.Go(func() {
			for key := range keys {
				c.SetWithExpire(key, 1, 2*second)
			}
		})
		users.Go(func() {
			for key := range keys {
				c.Del(key)
			}
		})
		users.Wait()
		time.Sleep(10 * second)
		synctest.Wait()
		if n := c.Len(); n != 0 {
			t.Errorf("%d keys live for ever", n)
		}
		must(t, c.Close(context.Background()))
	})
}
