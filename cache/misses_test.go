package cache_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// TestMissesByReason checks that a miss is counted by the cause of a recent removal of its
// key.
func TestMissesByReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.Must(cache.Options[int, int]{Limit: 100, Expire: time.Second})
		defer c.Close(t.Context())
		want := func(what string, expired, evicted, absent uint64, gets ...int) {
			t.Helper()
			before := c.Stats()
			for _, key := range gets {
				if _, ok := c.Get(key); ok {
					t.Errorf("%s: %d is there", what, key)
				}
			}
			s := c.Stats().Minus(before)
			others := s.Misses - s.MissesExpired - s.MissesEvicted
			if s.MissesExpired != expired || s.MissesEvicted != evicted || others != absent {
				t.Errorf("%s: %d expired, %d evicted, %d absent; want %d, %d, %d", what, s.MissesExpired, s.MissesEvicted, others, expired, evicted, absent)
			}
		}
		want("a key that never was there", 0, 0, 1, 1)
		c.SetWithExpire(1, 1, time.Millisecond)
		time.Sleep(time.Millisecond)
		if c.Len() != 1 {
			t.Fatal("the wheel has come by")
		}
		want("expired, and there", 1, 0, 0, 1)
		c.Set(1, 1)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if c.Len() != 0 {
			t.Fatal("the wheel has not come by")
		}
		want("expired, and removed by the wheel", 2, 0, 0, 1, 1)
		c.Set(1, 1)
		c.Del(1)
		want("stored again, and deleted", 0, 0, 1, 1)
		for key := range 101 {
			c.SetWithExpire(1000+key, key, 0)
		}
		want("the first of one too many", 0, 1, 0, 1000)
		c.Set(1000, 1)
		c.Clear()
		want("cleared", 0, 0, 1, 1000)
	})
}
