package cache_test

import (
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/cache/internal/clock"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// momentLasts is the greatest error of an age.
const momentLasts = time.Duration(1) << clock.MomentShift

// checkAges compares the number and the sum of the recorded ages.
func checkAges(t interface {
	Helper()
	Fatalf(string, ...any)
}, got stats.Histogram, count uint64, sum time.Duration) {
	t.Helper()
	off := (got.Sum() - sum).Abs()
	if got.Count() != count || off > time.Duration(count)*momentLasts {
		t.Fatalf("%d ages of %v together, want %d of %v", got.Count(), got.Sum(), count, sum)
	}
}

// TestAgesModel compares the ages of evicted values with those computed by a model, after
// random operations.
func TestAgesModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := cache.Options[int, int]{Ages: true, Workers: 1}
		limit := rapid.IntRange(1, 50).Draw(t, "limit")
		weighted := rapid.Bool().Draw(t, "weighted")
		if weighted {
			o.MaxWeight = uint64(limit)
			o.Weigh = func(_, value int) uint32 { return uint32(1 + value%3) }
		} else {
			o.Limit = limit
		}
		o.Expire = rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(t, "expire")
		rapid.SyncTest(t, func(t *rapid.T) { agesModel(t, o) })
	})
}

func agesModel(t *rapid.T, o cache.Options[int, int]) {
	var (
		count  uint64
		sum    time.Duration
		stored []time.Time // by value
	)
	o.OnRemove = func(e cache.Event[int, int]) {
		refused := o.Weigh != nil && uint64(o.Weigh(e.Key, e.Value)) > o.MaxWeight // never was in the cache
		if e.Cause == cache.Evicted && !refused {
			count++
			sum += time.Since(stored[e.Value])
		}
	}
	c := cache.Must(o)
	set := func(store func(key, value int)) func(*rapid.T) {
		return func(t *rapid.T) {
			from, n := rapid.IntRange(0, 100).Draw(t, "key"), rapid.IntRange(1, 60).Draw(t, "n")
			for key := from; key < from+n; key++ {
				stored = append(stored, time.Now())
				store(key, len(stored)-1)
				synctest.Wait()
				time.Sleep(11 * time.Second)
			}
		}
	}
	t.Repeat(map[string]func(*rapid.T){
		"Set":      set(c.Set),
		"GetOrSet": set(func(key, value int) { c.GetOrSet(key, value) }),
		"Take":     set(func(key, value int) { _, _ = c.Take(key, func() (int, error) { return value, nil }) }),
		"Compute":  set(func(key, value int) { c.Compute(key, func(int, bool) (int, cache.Op) { return value, cache.OpSet }) }),
		"Touch":    func(t *rapid.T) { c.Touch(rapid.IntRange(0, 160).Draw(t, "key"), time.Hour) },
		"Del": func(t *rapid.T) {
			for key := range rapid.IntRange(0, 160).Draw(t, "keys") {
				c.Del(key)
			}
		},
		"Clear": func(*rapid.T) { c.Clear() },
		"split": func(*rapid.T) { c.SplitInto(2) },
		"Resize": func(t *rapid.T) {
			_ = c.Resize(rapid.SampledFrom([]int{0, 1, 10, 100}).Draw(t, "limit"))
		},
		"sleep": func(t *rapid.T) {
			time.Sleep(rapid.SampledFrom([]time.Duration{time.Second, 10 * time.Minute, 24 * time.Hour}).Draw(t, "d"))
		},
		"": func(t *rapid.T) {
			synctest.Wait()
			if err := c.Check(); err != nil {
				t.Fatal(err)
			}
			checkAges(t, c.Stats().EvictedAge, count, sum) // not before, for check takes no lock
		},
	})
	c.Clear()
	synctest.Wait()
}
