package cache_test

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// TestUseInABubble uses caches that were made outside in a bubble of testing/synctest: what
// would never expire there is refused before anything is changed, and no lock or load stays.
func TestUseInABubble(t *testing.T) {
	from := cache.Must(cache.Options[int, int]{})
	from.Set(2, 2)
	file := saved(t, from)
	for name, use := range map[string]func(c *cache.Cache[int, int]){
		"Set":           func(c *cache.Cache[int, int]) { c.Set(2, 2) },
		"SetWithExpire": func(c *cache.Cache[int, int]) { c.SetWithExpire(2, 2, time.Second) },
		"Touch":         func(c *cache.Cache[int, int]) { c.Touch(1, time.Hour) },
		"ExpireFunc":    func(c *cache.Cache[int, int]) { c.ExpireFunc(func(int, int) bool { return true }) },
		"Expire":        func(c *cache.Cache[int, int]) { c.Expire(1) },
		"ExpireAll":     func(c *cache.Cache[int, int]) { c.ExpireAll() },
		"GetOrSet":      func(c *cache.Cache[int, int]) { c.GetOrSet(2, 2) },
		"Swap":          func(c *cache.Cache[int, int]) { c.Swap(1, 2) },
		"Compute": func(c *cache.Cache[int, int]) {
			c.Compute(2, func(int, bool) (int, cache.Op) { return 2, cache.OpSet })
		},
		"Take":      func(c *cache.Cache[int, int]) { c.Take(2, func() (int, error) { return 2, nil }) },
		"Base.Take": func(c *cache.Cache[int, int]) { cache.For(c).Take(context.Background(), 2, noFetch) },
		"TakeMany":  func(c *cache.Cache[int, int]) { c.TakeMany(context.Background(), []int{2}, noFetchMany) },
		"Restore":   func(c *cache.Cache[int, int]) { c.Restore(bytes.NewReader(file), decodeInts) },
	} {
		for option, o := range map[string]cache.Options[int, int]{
			"simple": {Expire: time.Hour}, "Idle": {Expire: time.Hour, Idle: time.Minute}, "Grace": {Expire: time.Hour, Grace: time.Hour, Limit: 10},
		} {
			c := cache.Must(o)
			c.Set(1, 1)
			synctest.Test(t, func(t *testing.T) {
				defer func() {
					if p, _ := recover().(string); !strings.Contains(p, "made outside of a testing/synctest bubble") {
						t.Errorf("%s, %s: panic %q", name, option, p)
					}
				}()
				use(c)
			})
			if v, ok := c.Peek(1); v != 1 || !ok || c.Len() != 1 {
				t.Errorf("%s, %s: %d, %v and %d entries", name, option, v, ok, c.Len())
			}
			cache.MustClose(t, c)
		}
	}
}

// TestStatsFromOutsideABubble takes statistics of a cache in a bubble of testing/synctest from outside,
// where the clock is decades ahead, or behind, as the page of package stats does. The cache must stay as
// it is. Its clock goes on though nobody has read it for decades.
func TestStatsFromOutsideABubble(t *testing.T) {
	asked, told := make(chan *cache.Cache[int, int]), make(chan struct{})
	go func() {
		for c := range asked {
			c.Stats()
			told <- struct{}{}
		}
	}()
	defer close(asked)
	synctest.Test(t, func(t *testing.T) {
		const year = 365 * 24 * time.Hour
		old := cache.Must(cache.Options[int, int]{Expire: time.Minute})
		defer old.Close(t.Context())
		for _, years := range []time.Duration{0, 1, 21, 40} {
			time.Sleep(years * year)
			young := cache.Must(cache.Options[int, int]{Expire: time.Minute})
			defer young.Close(t.Context())
			for name, c := range map[string]*cache.Cache[int, int]{"old": old, "young": young} {
				check := func(want bool) {
					t.Helper()
					if _, ok := c.Get(1); ok != want {
						t.Errorf("%d years later the %s cache has the value: %v, want %v", years, name, ok, want)
					}
				}
				c.Set(1, 1)
				time.Sleep(time.Second)
				asked <- c
				<-told
				check(true)
				c.Set(2, 2)
				time.Sleep(time.Minute - 2*time.Second)
				check(true)
				time.Sleep(time.Second)
				check(false)
			}
		}
	})
}

// TestSaveFileOfABubble checks that what was filled in fake time can be saved outside.
func TestSaveFileOfABubble(t *testing.T) {
	var c *cache.Cache[int, int]
	synctest.Test(t, func(*testing.T) {
		c = cache.Must(cache.Options[int, int]{})
		c.Set(1, 1)
	})
	if err := c.SaveFile(t.Context(), filepath.Join(t.TempDir(), "entries.cache"), encodeInts); err != nil {
		t.Error(err)
	}
}
