package cache

import (
	"testing"
	"testing/synctest"
	"time"
)

// isMarked reports whether the cache has marked the entry of a key for its next tick.
func (c *Cache[K, V]) isMarked(key K) bool {
	h := c.common.hasher.Hash(key)
	s := c.common.lock(h)
	defer s.lock.Unlock()
	i, ok := s.find(h, key)
	return ok && s.isEarlier(i)
}

// TestBroughtForward: an entry whose deadline a Set brought forward goes in time, whatever
// became of its slot before the tick that looks at it.
func TestBroughtForward(t *testing.T) {
	none := func(*Cache[int, int]) {}
	for name, then := range map[string]func(*Cache[int, int]){
		"nothing": none,
		"grow": func(c *Cache[int, int]) {
			for key := range 200 {
				c.SetWithExpire(1000+key, 0, 3*time.Hour)
			}
		},
		"split": func(c *Cache[int, int]) {
			for key := range 2 * crowded {
				c.SetWithExpire(1000+key, 0, 3*time.Hour)
			}
		},
		"shrink": func(c *Cache[int, int]) {
			for key := range 90 {
				c.Del(key)
			}
		},
		"put off again": func(c *Cache[int, int]) {
			for key := range 95 {
				c.SetWithExpire(key, 1, 3*time.Hour)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := Must(Options[int, int]{Limit: 100_000, Expire: time.Hour})
				for key := range 100 {
					c.SetWithExpire(key, 0, 2*time.Hour)
				}
				for key := range 100 {
					c.SetWithExpire(key, 1, time.Hour)
				}
				if !c.isMarked(99) {
					t.Fatal("not marked")
				}
				then(c)
				left := c.Len()
				for key := range 100 {
					if ttl, ok := c.TTL(key); ok && ttl <= time.Hour {
						left--
					}
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				if c.isMarked(99) {
					t.Error("still marked after a tick")
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				if err := c.check(); err != nil {
					t.Fatal(err)
				}
				if n := c.Len(); n != left {
					t.Errorf("%d entries, want %d", n, left)
				}
			})
		})
	}
}

// TestHorizonComesBack: a shorter TTL than those before does not make reads read the clock.
func TestHorizonComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[int, int]{Expire: 10 * time.Hour})
		c.Set(1, 1)
		c.SetWithExpire(2, 2, time.Hour)
		if !c.common.time.clock.far(c.deadlineOf(2)) {
			t.Errorf("a deadline in an hour is compared with the clock: the horizon is %v away", time.Duration(c.common.time.clock.horizon.Load()-c.common.time.clock.now()))
		}
	})
}
