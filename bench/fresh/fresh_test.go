// Package fresh has benchmarks of Refresh and Grace.
package fresh

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/maypok86/otter/v2"
	"github.com/viccon/sturdyc"

	"github.com/pinwheel-cache/pinwheel/cache"
)

const keys = 10_000

var ctx = context.Background()

// texts are the keys of a cache that has strings only.
var texts = func() (all [keys]string) {
	for i := range all {
		all[i] = strconv.Itoa(i)
	}
	return all
}()

func load(context.Context) (uint64, error) { return 1, nil }

// take reads all keys in turn.
func take(b *testing.B, get func(n int) (uint64, error)) {
	for n := range keys {
		if _, err := get(n); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if v, err := get(n % keys); v != 1 || err != nil {
			b.Fatal(v, err)
		}
	}
}

func pinwheel(b *testing.B, o cache.Options[uint64, uint64]) *cache.Cache[uint64, uint64] {
	o.Limit = 2 * keys
	c := cache.Must(o)
	b.Cleanup(func() { _ = c.Close(ctx) })
	return c
}

// BenchmarkHit takes values that are fresh, with each option.
func BenchmarkHit(b *testing.B) {
	type options = cache.Options[uint64, uint64]
	notFound := errors.New("not found")
	for _, of := range []struct {
		name string
		o    options
	}{
		{"none", options{}},
		{"Refresh", options{Refresh: 0.8}},
		{"Grace", options{Grace: time.Hour}},
		{"Patience", options{Grace: time.Hour, Patience: time.Second}},
		{"Timeout", options{Timeout: time.Second}},
		{"MaxLoads", options{MaxLoads: 10}},
		{"Negative", options{Negative: func(err error) time.Duration {
			if errors.Is(err, notFound) {
				return time.Minute
			}
			return 0
		}}},
		{"all", options{Refresh: 0.8, Grace: time.Hour, Patience: time.Second, Timeout: 2 * time.Second, MaxLoads: 10,
			Negative: func(error) time.Duration { return 0 }}},
	} {
		b.Run("pinwheel/"+of.name, func(b *testing.B) {
			of.o.Expire = time.Hour
			c := pinwheel(b, of.o)
			take(b, func(n int) (uint64, error) { return c.TakeCtx(ctx, uint64(n), load) })
		})
	}
	loader := otter.LoaderFunc[uint64, uint64](func(ctx context.Context, _ uint64) (uint64, error) { return load(ctx) })
	for name, due := range map[string]time.Duration{"none": 0, "Refresh": 48 * time.Minute} {
		b.Run("otter/"+name, func(b *testing.B) {
			o := otter.Options[uint64, uint64]{MaximumSize: 2 * keys, ExpiryCalculator: otter.ExpiryWriting[uint64, uint64](time.Hour)}
			if due > 0 {
				o.RefreshCalculator = otter.RefreshWriting[uint64, uint64](due)
			}
			c := otter.Must(&o)
			b.Cleanup(func() { c.StopAllGoroutines() })
			take(b, func(n int) (uint64, error) { return c.Get(ctx, uint64(n), loader) })
		})
		b.Run("sturdyc/"+name, func(b *testing.B) {
			options := []sturdyc.Option{sturdyc.WithNoContinuousEvictions()}
			if due > 0 {
				options = append(options, sturdyc.WithEarlyRefreshes(due, due+1, time.Hour, time.Minute))
			}
			c := sturdyc.New[uint64](2*keys, 10, time.Hour, 10, options...)
			take(b, func(n int) (uint64, error) { return c.GetOrFetch(ctx, texts[n], load) })
		})
	}
}

// BenchmarkFetch compares hits by the loader of the options with those of Get.
func BenchmarkFetch(b *testing.B) {
	loader := func(context.Context, uint64, *cache.Load[uint64]) (uint64, error) { return 1, nil }
	c := pinwheel(b, cache.Options[uint64, uint64]{Expire: time.Hour, Load: loader})
	fresh := pinwheel(b, cache.Options[uint64, uint64]{Expire: time.Hour, Refresh: 0.8, Grace: time.Hour, Load: loader})
	b.Run("Get", func(b *testing.B) {
		take(b, func(n int) (uint64, error) {
			v, ok := c.Get(uint64(n))
			if !ok {
				return c.Fetch(ctx, uint64(n))
			}
			return v, nil
		})
	})
	b.Run("Fetch", func(b *testing.B) { take(b, func(n int) (uint64, error) { return c.Fetch(ctx, uint64(n)) }) })
	b.Run("Refresh and Grace", func(b *testing.B) { take(b, func(n int) (uint64, error) { return fresh.Fetch(ctx, uint64(n)) }) })
}

// BenchmarkInGrace takes values past their deadline while the database is down: the last
// load has failed, and the next is not due yet. otter and sturdyc have nothing like it.
func BenchmarkInGrace(b *testing.B) {
	c := pinwheel(b, cache.Options[uint64, uint64]{Expire: 24 * time.Hour, Grace: 24 * time.Hour})
	for n := range uint64(keys) {
		c.SetWithExpire(n, 1, time.Millisecond)
	}
	time.Sleep(10 * time.Millisecond)
	down := errors.New("down")
	get := func(n int) (uint64, error) {
		return c.TakeCtx(ctx, uint64(n), func(context.Context) (uint64, error) { return 0, down })
	}
	for n := range keys {
		_, _ = get(n)
	}
	for c.Stats().Loads.Running > 0 {
		time.Sleep(time.Millisecond)
	}
	take(b, get)
}

// BenchmarkRefresh takes values that are always due and waits for the end of each refresh:
// its whole cost, with a load that returns at once.
func BenchmarkRefresh(b *testing.B) {
	ended := make(chan struct{})
	end := func(context.Context) (uint64, error) { ended <- struct{}{}; return 1, nil }
	run := func(b *testing.B, warm, take func(n int)) {
		for n := range keys {
			warm(n)
		}
		time.Sleep(10 * time.Millisecond)
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			take(n % keys)
			<-ended
		}
	}
	b.Run("pinwheel", func(b *testing.B) {
		c := pinwheel(b, cache.Options[uint64, uint64]{Expire: time.Hour, Refresh: 1e-9})
		run(b, func(n int) { c.Set(uint64(n), 1) }, func(n int) { _, _ = c.TakeCtx(ctx, uint64(n), end) })
	})
	b.Run("otter", func(b *testing.B) {
		c := otter.Must(&otter.Options[uint64, uint64]{MaximumSize: 2 * keys, RefreshCalculator: otter.RefreshWriting[uint64, uint64](time.Nanosecond)})
		b.Cleanup(func() { c.StopAllGoroutines() })
		loader := otter.LoaderFunc[uint64, uint64](func(ctx context.Context, _ uint64) (uint64, error) { return end(ctx) })
		run(b, func(n int) { c.Set(uint64(n), 1) }, func(n int) { _, _ = c.Get(ctx, uint64(n), loader) })
	})
	b.Run("sturdyc", func(b *testing.B) {
		c := sturdyc.New[uint64](2*keys, 10, time.Hour, 10, sturdyc.WithNoContinuousEvictions(),
			sturdyc.WithEarlyRefreshes(time.Nanosecond, 2*time.Nanosecond, time.Hour, time.Minute))
		run(b, func(n int) { _, _ = c.GetOrFetch(ctx, texts[n], load) }, func(n int) { _, _ = c.GetOrFetch(ctx, texts[n], end) })
	})
}
