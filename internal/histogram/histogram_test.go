package histogram_test

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pinwheel-cache/pinwheel/internal/histogram"
)

// TestBounds checks that Buckets yields all bounds and counts, in order, and that each bound is
// twice the one before, up to more than half a minute, and the last is above all durations.
func TestBounds(t *testing.T) {
	var h histogram.Histogram
	for i := range h.Counts() {
		h.Counts()[i] = uint64(i) + 1
	}
	i, want := 0, 16384*time.Nanosecond
	for bound, n := range h.Buckets() {
		if i == histogram.Buckets-1 {
			if want/2 < 32*time.Second {
				t.Errorf("the last finite bound is %v, want at least 32s", want/2)
			}
			want = math.MaxInt64
		}
		if bound != want || histogram.Bound(i) != want || n != uint64(i)+1 {
			t.Errorf("bucket %d has %d up to %v, %v by Bound; want %d up to %v", i, n, bound, histogram.Bound(i), i+1, want)
		}
		i, want = i+1, 2*want
	}
	if i != histogram.Buckets {
		t.Errorf("%d buckets, want %d", i, histogram.Buckets)
	}
	for range h.Buckets() { // the loop may end early
		break
	}
}

// observed returns the Histogram of the given durations.
func observed(durations ...time.Duration) histogram.Histogram {
	var d histogram.DurationRecorder
	for _, took := range durations {
		d.Observe(took)
	}
	return d.Histogram()
}

// naiveBucket finds the bucket of d by trying all.
func naiveBucket(d time.Duration) int {
	for i := range histogram.Buckets {
		if d <= histogram.Bound(i) {
			return i
		}
	}
	panic("no bucket")
}

func TestObserveFindsTheBucket(t *testing.T) {
	durations := []time.Duration{math.MinInt64, -1, 0, 1, math.MaxInt64}
	for i := range histogram.Buckets - 1 {
		b := histogram.Bound(i)
		durations = append(durations, b-1, b, b+1)
	}
	for _, took := range durations {
		var want histogram.Histogram
		want.Counts()[naiveBucket(took)] = 1
		want.SetSum(max(took, 0))
		if got := observed(took); got != want {
			t.Errorf("Observe(%d): got %v, want %v", took, got, want)
		}
	}
}

var someDurations = rapid.SliceOf(rapid.Custom(func(t *rapid.T) time.Duration {
	// Every order of magnitude is equally likely.
	return time.Duration(rapid.Int64Range(0, 1<<rapid.IntRange(0, 40).Draw(t, "bits")).Draw(t, "d"))
}))

// The estimate is in the bucket of the exact quantile, whatever the durations.
func TestQuantileIsInTheRightBucket(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		durations := someDurations.Filter(func(d []time.Duration) bool { return len(d) > 0 }).Draw(t, "durations")
		q := rapid.OneOf(
			rapid.Float64Range(0, 1),
			rapid.SampledFrom([]float64{0, 0.25, 0.5, 0.75, 1}), // often the last of a bucket
		).Draw(t, "q")
		got := observed(durations...).Quantile(q)

		slices.Sort(durations)
		rank := max(int(math.Ceil(q*float64(len(durations)))), 1)
		i := naiveBucket(durations[rank-1])
		var lower time.Duration
		if i > 0 {
			lower = histogram.Bound(i - 1)
		}
		upper := histogram.Bound(min(i, histogram.Buckets-2))
		if got < lower || got > upper {
			t.Fatalf("Quantile(%v) = %v, want within %v and %v", q, got, lower, upper)
		}
	})
}

func TestQuantileInterpolates(t *testing.T) {
	var h histogram.Histogram
	h.Counts()[3] = 4 // between 65.536 µs and twice as much
	for _, test := range []struct {
		q    float64
		want time.Duration
	}{
		{math.NaN(), 65536},
		{-1, 65536},
		{0, 65536},
		{0.25, 65536 + 16384},
		{0.5, 65536 + 32768},
		{1, 131072},
		{2, 131072},
	} {
		if got := h.Quantile(test.q); got != test.want {
			t.Errorf("Quantile(%v) = %d, want %d", test.q, got, test.want)
		}
	}
	var huge histogram.Histogram // so that float64 cannot tell its count from one less
	huge.Counts()[0], huge.Counts()[1] = 1<<60+128, 1
	if got, want := huge.Quantile(1), histogram.Bound(1); got != want {
		t.Errorf("Quantile(1) of a huge Histogram = %v, want %v", got, want)
	}
	if got := (histogram.Histogram{}).Quantile(0.5); got != 0 {
		t.Errorf("Quantile of an empty Histogram = %v, want 0", got)
	}
	if got, want := observed(time.Hour).Quantile(0.5), histogram.Bound(histogram.Buckets-2); got != want {
		t.Errorf("Quantile of an hour = %v, want the greatest finite bound, %v", got, want)
	}
}

// A histogram has the count, sum and mean of its durations, and Plus and Minus undo each other.
func TestHistogramOfDurations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := someDurations.Draw(t, "a"), someDurations.Draw(t, "b")
		ha, hb := observed(a...), observed(b...)
		both := observed(append(slices.Clone(a), b...)...)
		var sum time.Duration
		for _, d := range a {
			sum += d
		}
		if n := len(a); ha.Count() != uint64(n) || ha.Sum() != sum || ha.Mean() != sum/time.Duration(max(n, 1)) {
			t.Fatalf("count %d, sum %d, mean %d of %v", ha.Count(), ha.Sum(), ha.Mean(), a)
		}
		if got := ha.Plus(hb); got != both {
			t.Fatalf("Plus: got %v, want %v", got, both)
		}
		if got := both.Minus(ha); got != hb {
			t.Fatalf("Minus: got %v, want %v", got, hb)
		}
		if got := ha.Minus(both); got != (histogram.Histogram{}) {
			t.Fatalf("Minus a later one: got %v, want an empty one", got)
		}
	})
	h := observed(math.MaxInt64, math.MaxInt64)
	if h.Sum() != math.MaxInt64 || h.Plus(h).Sum() != math.MaxInt64 {
		t.Errorf("two sums beyond the greatest Duration are %d and %d", h.Sum(), h.Plus(h).Sum())
	}
}

// Every duration is exactly the first bound, so the sum is known from the count.
// One bucket and many rounds, because the moments in which a wrong order shows
// are short.
func TestHistogramDuringObserveIsConsistent(t *testing.T) {
	const writers, each = 4, 500_000
	var d histogram.DurationRecorder
	var wg sync.WaitGroup
	var running atomic.Int32
	for range writers {
		running.Add(1)
		wg.Go(func() {
			defer running.Add(-1)
			for range each {
				d.Observe(histogram.Bound(0))
			}
		})
	}
	for last := uint64(0); running.Load() > 0; {
		h := d.Histogram()
		n := h.Count()
		if n < last || h.Sum() > time.Duration(n)*histogram.Bound(0) {
			t.Errorf("%d durations of %v are %v, after %d", n, histogram.Bound(0), h.Sum(), last)
			break
		}
		last = n
		runtime.Gosched() // WebAssembly has one thread, and stops no goroutine
	}
	wg.Wait()
	h := d.Histogram()
	if want := time.Duration(writers*each) * histogram.Bound(0); h.Count() != writers*each || h.Sum() != want {
		t.Errorf("got %d durations, %v; want %d, %v", h.Count(), h.Sum(), writers*each, want)
	}
}

func TestObserveAllocatesNothing(t *testing.T) {
	var d histogram.DurationRecorder
	took := time.Duration(1)
	if got := testing.AllocsPerRun(1000, func() { d.Observe(took); took *= 3 }); got != 0 {
		t.Errorf("Observe allocates %v times, want 0", got)
	}
}

// ageUnit is the resolution of ages.
const ageUnit = 4096

// TestAges: an AgeRecorder counts an age as a DurationRecorder counts the 4096th part of it.
func TestAges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ages histogram.AgeRecorder
		var parts histogram.DurationRecorder
		for range rapid.IntRange(0, 20).Draw(t, "ages") {
			bound := histogram.Bound(rapid.IntRange(0, histogram.Buckets-2).Draw(t, "bucket"))
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
			if last := i == histogram.Buckets-1; last != (bound == math.MaxInt64) || !last && bound != histogram.Bound(i)*ageUnit {
				t.Fatalf("bound %d is %v", i, bound)
			}
			i++
		}
	})
}

// TestAgesOfCenturies: neither an age nor the sum overflows.
func TestAgesOfCenturies(t *testing.T) {
	var r histogram.AgeRecorder
	for range 10 {
		r.Observe(math.MaxInt64)
	}
	if h := r.Histogram(); h.Counts()[histogram.Buckets-1] != 10 || h.Sum() != math.MaxInt64 || h.Mean() != math.MaxInt64/ageUnit*ageUnit {
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
	var r histogram.AgeRecorder
	r.Observe(time.Hour)
	ages, durations := r.Histogram(), observed(time.Second)
	var nothing histogram.Histogram
	for name, got := range map[string]histogram.Histogram{
		"ages + nothing": ages.Plus(nothing), "nothing + ages": nothing.Plus(ages), "ages - nothing": ages.Minus(nothing),
		"ages + ages - ages": ages.Plus(ages).Minus(ages),
	} {
		if got != ages {
			t.Errorf("%s are %v, want the ages", name, got)
		}
	}
	var none histogram.AgeRecorder
	for name, got := range map[string]histogram.Histogram{
		"nothing - ages": nothing.Minus(ages), "ages - ages": ages.Minus(ages), "no age": none.Histogram(),
	} {
		if got != nothing {
			t.Errorf("%s is %v, want nothing", name, got)
		}
	}
	for _, f := range []func(histogram.Histogram) histogram.Histogram{ages.Plus, ages.Minus} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("durations and ages go together")
				}
			}()
			f(durations)
		}()
	}
}
