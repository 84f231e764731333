package cache_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// manyFresh runs a test with a cache of 1, 2 and 3 whose values are due after 30 s,
// expire after 60, and are in Grace for 60 more; 3 is stored 10 s after the others.
func manyFresh(t *testing.T, o cache.Options[int, int], test func(t *testing.T, c *cache.Cache[int, int], s *source)) {
	synctest.Test(t, func(t *testing.T) {
		o.Expire, o.Refresh, o.Grace = time.Minute, 0.5, time.Minute
		c := cache.Must(o)
		c.Set(1, 10)
		c.Set(2, 20)
		time.Sleep(10 * time.Second)
		c.Set(3, 30)
		test(t, c, &source{})
		time.Sleep(time.Hour)
		synctest.Wait()
		cache.WantWhole(t, c)
	})
}

// takeManyIn wants what TakeMany returns after some time.
func takeManyIn(t *testing.T, c *cache.Cache[int, int], s *source, d time.Duration, wantErr error, keys []int, want ...int) {
	t.Helper()
	began := time.Now()
	got, err := c.TakeMany(t.Context(), keys, s.fetch)
	if took := time.Since(began); err != wantErr || took != d {
		t.Errorf("TakeMany = %v, %v after %v; want %v after %v", got, err, took, wantErr, d)
	}
	wantMany(t, got, nil, want...)
}

// TestTakeManyRenews checks that values that are due are returned, and renewed by one
// fetch in the background, beside the fetch of the missing keys.
func TestTakeManyRenews(t *testing.T) {
	manyFresh(t, cache.Options[int, int]{}, func(t *testing.T, c *cache.Cache[int, int], s *source) {
		time.Sleep(20 * time.Second) // 1 and 2 are due
		takeManyIn(t, c, s, 0, nil, []int{1, 2, 3}, 1, 2, 3)
		takeManyIn(t, c, s, 0, nil, []int{1, 2, 3}, 1, 2, 3) // under way
		time.Sleep(2 * time.Second)
		wantCalls(t, s, []int{1, 2})
		time.Sleep(10 * time.Second) // 3 is due
		takeManyIn(t, c, s, time.Second, nil, []int{1, 2, 3, 4}, 1, 2, 3, 4)
		synctest.Wait()
		slices.SortFunc(s.calls, slices.Compare)
		wantCalls(t, s, []int{1, 2}, []int{3}, []int{4})
		if left, _ := c.TTL(1); left != 48*time.Second {
			t.Errorf("1 has %v left", left)
		}
		if st := c.Stats(); st.Hits != 9 || st.Misses != 1 {
			t.Errorf("%d hits and %d misses", st.Hits, st.Misses)
		}
	})
}

// TestTakeManyWithPatience checks that with Patience TakeMany waits for the fetch; if that
// fails, values in Grace stand in, and the error is returned for the other keys.
func TestTakeManyWithPatience(t *testing.T) {
	manyFresh(t, cache.Options[int, int]{Patience: time.Millisecond}, func(t *testing.T, c *cache.Cache[int, int], s *source) {
		time.Sleep(time.Minute)
		takeManyIn(t, c, s, time.Second, nil, []int{1}, 1)
		synctest.Wait()
		s.fails = errors.New("failed")
		takeManyIn(t, c, s, time.Second, nil, []int{2, 1, 3}, 1, 2, 3)
		if st := c.Stats(); st.Hits != 3 || st.Misses != 1 || st.MissesExpired != 1 {
			t.Errorf("%d hits and %d misses, want 3 and 1", st.Hits, st.Misses)
		}
		takeManyIn(t, c, s, 0, nil, []int{2, 3}, 2, 3) // not again just now
		takeManyIn(t, c, s, time.Second, s.fails, []int{2, 4}, 2)
		wantCalls(t, s, []int{1}, []int{2, 3}, []int{4})
	})
}

// TestTakeManyStandsInForOthers checks that a value in Grace also stands in when the load
// of another caller fails.
func TestTakeManyStandsInForOthers(t *testing.T) {
	manyFresh(t, cache.Options[int, int]{Patience: time.Millisecond, Timeout: 10 * time.Second}, func(t *testing.T, c *cache.Cache[int, int], s *source) {
		time.Sleep(time.Minute)
		failed := errors.New("failed")
		go c.Take(1, func() (int, error) { time.Sleep(time.Second); return 0, failed })
		go c.Take(2, func() (int, error) { time.Sleep(time.Minute); return 0, nil })
		synctest.Wait()
		c.Touch(2, time.Minute)
		takeManyIn(t, c, s, 10*time.Second, nil, []int{1, 2, 3}, 1, 2, 3)
	})
}

// TestTakeManyRenewalsFail checks that the values stay when a renewal fails, that the next
// try comes after a pause, and that OnPanic gets a panic.
func TestTakeManyRenewalsFail(t *testing.T) {
	told := 0
	manyFresh(t, cache.Options[int, int]{OnPanic: func(any, []byte) { told++ }}, func(t *testing.T, c *cache.Cache[int, int], s *source) {
		time.Sleep(20 * time.Second)
		got, err := c.TakeMany(t.Context(), []int{1, 2}, func(context.Context, []int) (map[int]int, error) { panic("oh") })
		wantMany(t, got, err, 1, 2)
		synctest.Wait()
		if told != 1 {
			t.Errorf("OnPanic was told %d times", told)
		}
		takeManyIn(t, c, s, 0, nil, []int{1, 2}, 1, 2)
		wantCalls(t, s)
		time.Sleep(2 * time.Second)
		takeManyIn(t, c, s, 0, nil, []int{1, 2}, 1, 2)
		synctest.Wait()
		wantCalls(t, s, []int{1, 2})
		if got := maps.Collect(c.All()); len(got) != 3 {
			t.Errorf("the cache has %v", got)
		}
	})
}

// TestTakeManyRenewalsDoNotWait checks that the renewals of one call have one permit
// together, or are skipped.
func TestTakeManyRenewalsDoNotWait(t *testing.T) {
	manyFresh(t, cache.Options[int, int]{MaxLoads: 1}, func(t *testing.T, c *cache.Cache[int, int], s *source) {
		time.Sleep(20 * time.Second)
		go c.Take(9, func() (int, error) { time.Sleep(time.Second); return 90, nil })
		synctest.Wait()
		takeManyIn(t, c, s, 0, nil, []int{1, 2}, 1, 2)
		time.Sleep(5 * time.Second)
		wantCalls(t, s)
		takeManyIn(t, c, s, 0, nil, []int{1, 2}, 1, 2)
		synctest.Wait()
		wantCalls(t, s, []int{1, 2})
	})
}
