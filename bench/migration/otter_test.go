package migration

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maypok86/otter/v2"
	otterstats "github.com/maypok86/otter/v2/stats"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// newOtter returns an otter whose goroutine, if it has one, ends with the test.
func newOtter[K comparable, V any](t *testing.T, o otter.Options[K, V]) *otter.Cache[K, V] {
	t.Helper()
	c := must(otter.New(&o))
	t.Cleanup(func() { c.StopAllGoroutines() })
	return c
}

// A duration of 0 or less does nothing in otter.
func TestOtterSetExpiresAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOtter(t, otter.Options[string, int]{ExpiryCalculator: otter.ExpiryWriting[string, int](time.Hour)})
		p := pinwheel(t, cache.Options[string, int]{Expire: time.Hour})
		for _, k := range []string{"zero", "negative"} {
			o.Set(k, 1)
			p.Set(k, 1)
		}
		o.SetExpiresAfter("zero", 0)
		p.Touch("zero", 0)
		o.SetExpiresAfter("negative", -1)
		want(t, "ours: Touch with a negative TTL", p.Touch("negative", -1), true)
		want(t, "otter: there after a negative TTL", has(o.GetIfPresent("negative")), true)
		want(t, "ours: there after a negative TTL", has(p.Get("negative")), false)
		time.Sleep(time.Hour)
		want(t, "otter: there an hour after a TTL of 0", has(o.GetIfPresent("zero")), false)
		want(t, "ours: there an hour after a TTL of 0", has(p.Get("zero")), true)
	})
}

// Set of a present key leaves its deadline alone with ExpiryCreating. Here Set renews it, and
// OpSet of Compute does not.
func TestOtterExpiryCreating(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOtter(t, otter.Options[string, int]{ExpiryCalculator: otter.ExpiryCreating[string, int](time.Hour)})
		p := pinwheel(t, cache.Options[string, int]{Expire: time.Hour})
		o.Set("k", 1)
		p.Set("k", 1)
		time.Sleep(time.Hour / 2)
		o.Set("k", 2)
		p.Set("k", 2)
		time.Sleep(time.Hour / 2)
		want(t, "otter with ExpiryCreating, set again", has(o.GetIfPresent("k")), false)
		want(t, "ours, set again", has(p.Get("k")), true)
		p.Compute("k", func(int, bool) (int, cache.Op) { return 3, cache.OpSet })
		time.Sleep(time.Hour / 2)
		want(t, "ours, by Compute", has(p.Get("k")), false)
	})
}

// With a refresh before the deadline a value outlives failing loads there, as in Grace here. There
// each Get begins a load, and GetIfPresent finds the value too.
func TestOtterOldValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := errors.New("down")
		loads := 0
		o := newOtter(t, otter.Options[string, int]{
			ExpiryCalculator:  otter.ExpiryWriting[string, int](time.Hour),
			RefreshCalculator: otter.RefreshWriting[string, int](time.Minute),
			Logger:            &otter.NoopLogger{},
		})
		o.Set("k", 1)
		p := pinwheel(t, cache.Options[string, int]{Expire: time.Minute, Grace: time.Hour - time.Minute})
		p.Set("k", 1)
		time.Sleep(time.Minute)
		for range 100 {
			want(t, "otter: old value", must(o.Get(t.Context(), "k", otter.LoaderFunc[string, int](func(context.Context, string) (int, error) {
				loads++
				return 0, down
			}))), 1)
			synctest.Wait()
		}
		want(t, "otter: loads", loads, 100)
		want(t, "otter: GetIfPresent", has(o.GetIfPresent("k")), true)
		loads = 0
		for range 100 {
			want(t, "ours: old value", must(p.TakeCtx(t.Context(), "k", func(context.Context) (int, error) {
				loads++
				return 0, down
			})), 1)
			synctest.Wait()
		}
		want(t, "ours: loads", loads, 1)
		want(t, "ours: Get", has(p.Get("k")), false)
	})
}

// ExpiryAccessing is Idle.
func TestOtterExpiryAccessing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOtter(t, otter.Options[string, int]{ExpiryCalculator: otter.ExpiryAccessing[string, int](time.Hour)})
		p := pinwheel(t, cache.Options[string, int]{Idle: time.Hour})
		o.Set("k", 1)
		p.Set("k", 1)
		time.Sleep(time.Hour / 2)
		o.GetIfPresent("k")
		p.Get("k")
		time.Sleep(time.Hour - 1)
		want(t, "otter: half an hour after a read", has(o.GetEntryQuietly("k")), true)
		want(t, "ours: half an hour after a read", has(p.Peek("k")), true)
		time.Sleep(time.Nanosecond)
		want(t, "otter: an hour after a read", has(o.GetEntryQuietly("k")), false)
		want(t, "ours: an hour after a read", has(p.Peek("k")), false)
	})
}

// A deletion during a load makes otter load again; ours returns the loaded value to the
// callers that waited for it, and does not keep it.
func TestOtterDeletionDuringLoad(t *testing.T) {
	o := newOtter(t, otter.Options[string, int]{})
	loads := 0
	v := must(o.Get(t.Context(), "k", otter.LoaderFunc[string, int](func(context.Context, string) (int, error) {
		if loads++; loads == 1 {
			deleted := make(chan struct{})
			go func() { o.Invalidate("k"); close(deleted) }()
			<-deleted
		}
		return loads, nil
	})))
	want(t, "otter: loads", loads, 2)
	want(t, "otter: value", v, 2)
	want(t, "otter: kept", has(o.GetIfPresent("k")), true)

	p := pinwheel(t, cache.Options[string, int]{})
	loads = 0
	v = must(p.TakeCtx(t.Context(), "k", func(context.Context) (int, error) {
		loads++
		p.Del("k")
		return loads, nil
	}))
	want(t, "ours: loads", loads, 1)
	want(t, "ours: value", v, 1)
	want(t, "ours: kept", has(p.Get("k")), false)
}

// A caller that waits for a load gets the value set meanwhile from otter, and the loaded
// one from ours. Both keep the value that was set.
func TestOtterSetDuringLoad(t *testing.T) {
	o := newOtter(t, otter.Options[string, int]{})
	v := must(o.Get(t.Context(), "k", otter.LoaderFunc[string, int](func(context.Context, string) (int, error) {
		set := make(chan struct{})
		go func() { o.Set("k", 100); close(set) }()
		<-set
		return 101, nil
	})))
	want(t, "otter: returned", v, 100)
	want(t, "otter: kept", value(o.GetIfPresent("k")), 100)

	p := pinwheel(t, cache.Options[string, int]{})
	v = must(p.TakeCtx(t.Context(), "k", func(context.Context) (int, error) {
		p.Set("k", 100)
		return 101, nil
	}))
	want(t, "ours: returned", v, 101)
	want(t, "ours: kept", value(p.Get("k")), 100)
}

// otter's statistics count Compute as a lookup, and not SetIfAbsent. Ours count GetOrSet,
// and not Compute.
func TestOtterCounts(t *testing.T) {
	o := newOtter(t, otter.Options[string, int]{StatsRecorder: otterstats.NewCounter()})
	p := pinwheel(t, cache.Options[string, int]{})
	counts := func(hits, misses uint64) string { return fmt.Sprint(hits, " hits, ", misses, " misses") }
	for range 2 {
		o.SetIfAbsent("k", 1)
		p.GetOrSet("k", 1)
	}
	want(t, "otter: SetIfAbsent", counts(o.Stats().Hits, o.Stats().Misses), "0 hits, 0 misses")
	want(t, "ours: GetOrSet", counts(p.Stats().Hits, p.Stats().Misses), "1 hits, 1 misses")
	for range 2 {
		o.Compute("computed", func(int, bool) (int, otter.ComputeOp) { return 1, otter.WriteOp })
		p.Compute("computed", func(int, bool) (int, cache.Op) { return 1, cache.OpSet })
	}
	want(t, "otter: Compute", counts(o.Stats().Hits, o.Stats().Misses), "1 hits, 1 misses")
	want(t, "ours: Compute", counts(p.Stats().Hits, p.Stats().Misses), "1 hits, 1 misses")
}

// A weight of 0 pins an entry in otter. In ours it counts as 1.
func TestOtterWeightZero(t *testing.T) {
	weigh := func(key, _ int) uint32 { return uint32(min(key, 1)) }
	o := newOtter(t, otter.Options[int, int]{MaximumWeight: 10, Weigher: weigh})
	p := pinwheel(t, cache.Options[int, int]{MaxWeight: 10, Weigh: weigh})
	for key := range 1000 {
		o.Set(key, 1)
		p.Set(key, 1)
	}
	o.CleanUp()
	want(t, "otter: there with weight 0", has(o.GetIfPresent(0)), true)
	want(t, "ours: there with weight 0", has(p.Get(0)), false)
}

// Ours has a cause of its own for what InvalidateAll removes.
func TestOtterInvalidateAll(t *testing.T) {
	there := make(chan otter.DeletionCause)
	o := newOtter(t, otter.Options[string, int]{
		OnDeletion: func(e otter.DeletionEvent[string, int]) { there <- e.Cause },
	})
	o.Set("k", 1)
	o.InvalidateAll()
	want(t, "otter", <-there, otter.CauseInvalidation)

	here := make(chan cache.Cause)
	p := pinwheel(t, cache.Options[string, int]{
		OnRemove: func(e cache.Event[string, int]) { here <- e.Cause },
	})
	p.Set("k", 1)
	p.Clear()
	want(t, "ours", <-here, cache.Cleared)
}

// Statistics have no weights here; OnRemove adds up what otter counts as evicted.
func TestOtterEvictionWeight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		weigh := func(_, weight int) uint32 { return uint32(weight) }
		o := newOtter(t, otter.Options[int, int]{
			MaximumWeight: 100, Weigher: weigh,
			ExpiryCalculator: otter.ExpiryWriting[int, int](time.Minute),
			StatsRecorder:    otterstats.NewCounter(),
		})
		var evicted atomic.Int64
		p := pinwheel(t, cache.Options[int, int]{
			MaxWeight: 100, Weigh: weigh, Expire: time.Minute,
			OnRemove: func(e cache.Event[int, int]) {
				if e.Cause == cache.Evicted || e.Cause == cache.Expired {
					evicted.Add(int64(e.Value))
				}
			},
		})
		for key := range 10 {
			o.Set(key, 20)
			p.Set(key, 20)
		}
		o.CleanUp()
		want(t, "ours: error of Wait", p.Wait(t.Context()), nil)
		want(t, "otter: weight evicted", o.Stats().EvictionWeight, 100)
		want(t, "ours: weight evicted", evicted.Load(), 100)
		time.Sleep(time.Hour)
		o.CleanUp()
		synctest.Wait()
		want(t, "otter: weight evicted or expired", o.Stats().EvictionWeight, 200)
		want(t, "ours: weight evicted or expired", evicted.Load(), 200)
	})
}

// otter counts nothing unless it is given a recorder.
func TestOtterStats(t *testing.T) {
	o := newOtter(t, otter.Options[string, int]{})
	p := pinwheel(t, cache.Options[string, int]{})
	o.GetIfPresent("k")
	p.Get("k")
	want(t, "otter: misses", o.Stats().Misses, 0)
	want(t, "ours: misses", p.Stats().Misses, 1)
}

// A load can give a TTL to its value.
func TestTakeWithExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pinwheel(t, cache.Options[string, int]{Expire: time.Hour})
		must(p.TakeWith(t.Context(), "k", func(_ context.Context, l *cache.Load[int]) (int, error) {
			l.Expire = time.Minute
			return 1, nil
		}))
		time.Sleep(time.Minute - 1)
		want(t, "ours: there before a minute has passed", has(p.Get("k")), true)
		time.Sleep(time.Nanosecond)
		want(t, "ours: there after a minute", has(p.Get("k")), false)
	})
}
