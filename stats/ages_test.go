package stats_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// ageUnit is the resolution of ages.
const ageUnit = 4096

func TestAgeBounds(t *testing.T) {
	for i := range stats.Buckets - 1 {
		if got, want := stats.AgeBound(i), stats.Bound(i)*ageUnit; got != want {
			t.Errorf("AgeBound(%d) = %v, want %v", i, got, want)
		}
	}
	for i, want := range map[int]time.Duration{
		0:                 67108864,
		1:                 134217728,
		stats.Buckets - 2: 39*time.Hour + 5*time.Minute + 37488355328,
		stats.Buckets - 1: math.MaxInt64,
	} {
		if got := stats.AgeBound(i); got != want {
			t.Errorf("AgeBound(%d) = %v, want %v", i, got, want)
		}
	}
	var a stats.Ages
	a.Scaled().Counts()[3] = 7
	i := 0
	for bound, n := range a.Buckets() {
		if bound != stats.AgeBound(i) || n != a.Scaled().Counts()[i] {
			t.Errorf("bucket %d has %d up to %v, want %d up to %v", i, n, bound, a.Scaled().Counts()[i], stats.AgeBound(i))
		}
		i++
	}
	if i != stats.Buckets {
		t.Errorf("%d buckets, want %d", i, stats.Buckets)
	}
	for range a.Buckets() { // the loop may end early
		break
	}
}

// TestAgesAreCountedInTheirBuckets: ages are in the right buckets, also at the bounds.
func TestAgesAreCountedInTheirBuckets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r stats.AgeRecorder
		var want stats.Ages
		var sum time.Duration
		add := func(age time.Duration) {
			r.Observe(age)
			age = max(age, 0) / ageUnit * ageUnit
			i := 0
			for age > stats.AgeBound(i) {
				i++
			}
			want.Scaled().Counts()[i]++
			sum += age
		}
		for range rapid.IntRange(0, 20).Draw(t, "ages") {
			bound := stats.AgeBound(rapid.IntRange(0, stats.Buckets-2).Draw(t, "bucket"))
			add(bound + rapid.SampledFrom([]time.Duration{-ageUnit, -1, 0, 1, ageUnit, ageUnit + 1}).Draw(t, "off"))
			add(time.Duration(rapid.Int64Range(-10, 1<<50).Draw(t, "age")))
		}
		want.Scaled().SetSum(sum / ageUnit)
		if got := r.Ages(); got != want || got.Sum() != sum {
			t.Fatalf("ages\n got %v\nwant %v", got, want)
		}
		n := uint64(0)
		for _, c := range want.Scaled().Counts() {
			n += c
		}
		if got := r.Ages().Count(); got != n {
			t.Fatalf("Count = %d, want %d", got, n)
		}
	})
}

// TestAgesOfCenturies: neither an age nor the sum overflows.
func TestAgesOfCenturies(t *testing.T) {
	var r stats.AgeRecorder
	for range 10 {
		r.Observe(math.MaxInt64)
	}
	a := r.Ages()
	if a.Scaled().Counts()[stats.Buckets-1] != 10 || a.Count() != 10 || a.Sum() != math.MaxInt64/ageUnit*ageUnit {
		t.Errorf("ten ages of 292 years are %v", a)
	}
	r.Observe(math.MinInt64)
	if a = r.Ages(); a.Scaled().Counts()[0] != 1 || a.Sum() < 0 {
		t.Errorf("with a negative one they are %v", a)
	}
}

// TestAgeQuantiles: quantiles are at most a factor of two off.
func TestAgeQuantiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ages := rapid.SliceOfN(rapid.Int64Range(int64(stats.AgeBound(0)+ageUnit), int64(stats.AgeBound(stats.Buckets-2))), 1, 50).Draw(t, "ages")
		var r stats.AgeRecorder
		for _, age := range ages {
			r.Observe(time.Duration(age))
		}
		slices.Sort(ages)
		q := rapid.Float64Range(0.01, 1).Draw(t, "q")
		exact := time.Duration(ages[int(math.Ceil(q*float64(len(ages))))-1])
		if got := r.Ages().Quantile(q); got > 2*exact || got < exact/2-ageUnit {
			t.Fatalf("Quantile(%v) = %v, want %v", q, got, exact)
		}
	})
	var r stats.AgeRecorder
	if got := r.Ages().Quantile(0.5); got != 0 {
		t.Errorf("the median of nothing is %v", got)
	}
	r.Observe(1000 * time.Hour)
	if got, want := r.Ages().Quantile(0.5), stats.AgeBound(stats.Buckets-2); got != want {
		t.Errorf("the median of 1000 h is %v, want the greatest finite bound, %v", got, want)
	}
}
