package stats_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// ageUnit is the resolution of ages.
const ageUnit = 4096

// TestAges: an AgeRecorder counts an age as a DurationRecorder counts the 4096th part of it.
func TestAges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ages stats.AgeRecorder
		var parts stats.DurationRecorder
		for range rapid.IntRange(0, 20).Draw(t, "ages") {
			bound := stats.Bound(rapid.IntRange(0, stats.Buckets-2).Draw(t, "bucket"))
			age := rapid.OneOf(
				rapid.Custom(func(t *rapid.T) time.Duration {
					return bound*ageUnit + rapid.SampledFrom([]time.Duration{-1, 0, 1, ageUnit - 1, ageUnit}).Draw(t, "off")
				}),
				rapid.Custom(func(t *rapid.T) time.Duration { return time.Duration(rapid.Int64Range(-10, 1<<50).Draw(t, "ns")) }),
			).Draw(t, "age")
			ages.Observe(age)
			parts.Observe(max(age, 0) / ageUnit)
		}
		a, p := ages.Histogram(), parts.Histogram()
		if a.Count() != p.Count() || a.Sum() != p.Sum()*ageUnit || a.Mean() != p.Mean()*ageUnit {
			t.Fatalf("%d ages, %v together, %v in the mean; the parts are %d, %v, %v", a.Count(), a.Sum(), a.Mean(), p.Count(), p.Sum(), p.Mean())
		}
		if *a.Counts() != *p.Counts() {
			t.Fatalf("ages in buckets %v, parts in %v", a.Counts(), p.Counts())
		}
		for _, q := range []float64{0, 0.1, 0.5, 0.99, 1} {
			if a.Quantile(q) != p.Quantile(q)*ageUnit {
				t.Fatalf("Quantile(%v) = %v, of the parts %v", q, a.Quantile(q), p.Quantile(q))
			}
		}
		i := 0
		if a.Count() == 0 { // the bounds are those of nothing
			return
		}
		for bound := range a.Buckets() {
			if last := i == stats.Buckets-1; last != (bound == math.MaxInt64) || !last && bound != stats.Bound(i)*ageUnit {
				t.Fatalf("bound %d is %v", i, bound)
			}
			i++
		}
	})
}

// TestAgesOfCenturies: neither an age nor the sum overflows.
func TestAgesOfCenturies(t *testing.T) {
	var r stats.AgeRecorder
	for range 10 {
		r.Observe(math.MaxInt64)
	}
	if h := r.Histogram(); h.Counts()[stats.Buckets-1] != 10 || h.Sum() != math.MaxInt64 || h.Mean() != math.MaxInt64/ageUnit*ageUnit {
		t.Errorf("ten ages of 292 years are %v", h)
	}
	r.Observe(math.MinInt64)
	if h := r.Histogram(); h.Counts()[0] != 1 || h.Sum() < 0 {
		t.Errorf("with a negative one they are %v", h)
	}
}

// TestAgesBesideDurations: nothing can be added to ages and subtracted from them, durations
// that were counted by other bounds cannot.
func TestAgesBesideDurations(t *testing.T) {
	var r stats.AgeRecorder
	r.Observe(time.Hour)
	ages, durations := r.Histogram(), observed(time.Second)
	var nothing stats.Histogram
	for name, got := range map[string]stats.Histogram{
		"ages + nothing": ages.Plus(nothing), "nothing + ages": nothing.Plus(ages), "ages - nothing": ages.Minus(nothing),
		"ages + ages - ages": ages.Plus(ages).Minus(ages),
	} {
		if got != ages {
			t.Errorf("%s are %v, want the ages", name, got)
		}
	}
	var none stats.AgeRecorder
	for name, got := range map[string]stats.Histogram{
		"nothing - ages": nothing.Minus(ages), "ages - ages": ages.Minus(ages), "no age": none.Histogram(),
	} {
		if got != nothing {
			t.Errorf("%s is %v, want nothing", name, got)
		}
	}
	for name, f := range map[string]func(stats.Histogram) stats.Histogram{"Plus": ages.Plus, "Minus": ages.Minus} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s of durations and ages does not panic", name)
				}
			}()
			f(durations)
		}()
	}
}
