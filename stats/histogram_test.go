package stats_test

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pinwheel-cache/pinwheel/stats"
)

func TestBounds(t *testing.T) {
	if got := stats.Bound(0); got != 16384*time.Nanosecond {
		t.Errorf("Bound(0) = %v, want 16.384µs", got)
	}
	for i := 1; i < stats.Buckets-1; i++ {
		if got, want := stats.Bound(i), 2*stats.Bound(i-1); got != want {
			t.Errorf("Bound(%d) = %v, want twice the one before, %v", i, got, want)
		}
	}
	if got := stats.Bound(stats.Buckets - 2); got < 32*time.Second {
		t.Errorf("last finite bound = %v, want at least 32s", got)
	}
	if got := stats.Bound(stats.Buckets - 1); got != math.MaxInt64 {
		t.Errorf("last bound = %v, want the greatest Duration", got)
	}
}

// TestBuckets checks that Buckets yields all bounds and counts, in order.
func TestBuckets(t *testing.T) {
	var h stats.Histogram
	for i := range h.Counts() {
		h.Counts()[i] = uint64(i) + 1
	}
	i := 0
	for bound, n := range h.Buckets() {
		if bound != stats.Bound(i) || n != uint64(i)+1 {
			t.Errorf("bucket %d has %d up to %v, want %d up to %v", i, n, bound, i+1, stats.Bound(i))
		}
		i++
	}
	if i != stats.Buckets {
		t.Errorf("%d buckets, want %d", i, stats.Buckets)
	}
	for range h.Buckets() { // the loop may end early
		break
	}
}

// observed returns the Histogram of the given durations.
func observed(durations ...time.Duration) stats.Histogram {
	var d stats.DurationRecorder
	for _, took := range durations {
		d.Observe(took)
	}
	return d.Histogram()
}

// naiveBucket finds the bucket of d by trying all.
func naiveBucket(d time.Duration) int {
	for i := range stats.Buckets {
		if d <= stats.Bound(i) {
			return i
		}
	}
	panic("no bucket")
}

func TestObserveFindsTheBucket(t *testing.T) {
	durations := []time.Duration{math.MinInt64, -1, 0, 1, math.MaxInt64}
	for i := range stats.Buckets - 1 {
		b := stats.Bound(i)
		durations = append(durations, b-1, b, b+1)
	}
	for _, took := range durations {
		var want stats.Histogram
		want.Counts()[naiveBucket(took)] = 1
		want.SetSum(max(took, 0))
		if got := observed(took); got != want {
			t.Errorf("Observe(%d): got %v, want %v", took, got, want)
		}
	}
}

func TestSumStopsAtTheGreatestDuration(t *testing.T) {
	h := observed(math.MaxInt64, math.MaxInt64)
	if h.Sum() != math.MaxInt64 {
		t.Errorf("Sum = %d, want the greatest Duration", h.Sum())
	}
	if got := h.Plus(h).Sum(); got != math.MaxInt64 {
		t.Errorf("Plus: Sum = %d, want the greatest Duration", got)
	}
}

var someDurations = rapid.SliceOf(rapid.Custom(func(t *rapid.T) time.Duration {
	// Every order of magnitude is equally likely.
	return time.Duration(rapid.Int64Range(0, 1<<rapid.IntRange(0, 40).Draw(t, "bits")).Draw(t, "d"))
}))

func TestHistogramOfDurations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		durations := someDurations.Draw(t, "durations")
		h := observed(durations...)
		var sum, mean time.Duration
		for _, d := range durations {
			sum += d
		}
		if n := len(durations); n > 0 {
			mean = sum / time.Duration(n)
		}
		if h.Count() != uint64(len(durations)) || h.Sum() != sum || h.Mean() != mean {
			t.Fatalf("got count %d, sum %d, mean %d; want %d, %d, %d",
				h.Count(), h.Sum(), h.Mean(), len(durations), sum, mean)
		}
	})
}

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
			lower = stats.Bound(i - 1)
		}
		upper := stats.Bound(min(i, stats.Buckets-2))
		if got < lower || got > upper {
			t.Fatalf("Quantile(%v) = %v, want within %v and %v", q, got, lower, upper)
		}
	})
}

func TestQuantileNeverFalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h stats.Histogram
		for i := range h.Counts() {
			h.Counts()[i] = rapid.Uint64Range(0, math.MaxUint64/stats.Buckets).Draw(t, "count")
		}
		q := rapid.Float64Range(0, 1).Draw(t, "q")
		p := rapid.Float64Range(0, q).Draw(t, "p")
		if low, high := h.Quantile(p), h.Quantile(q); low > high {
			t.Fatalf("Quantile(%v) = %v, above Quantile(%v) = %v", p, low, q, high)
		}
	})
}

func TestQuantileInterpolates(t *testing.T) {
	var h stats.Histogram
	h.Counts()[3] = 4 // between 65.536 µs and twice as much
	tests := []struct {
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
	}
	for _, test := range tests {
		if got := h.Quantile(test.q); got != test.want {
			t.Errorf("Quantile(%v) = %d, want %d", test.q, got, test.want)
		}
	}
	var huge stats.Histogram // so that float64 cannot tell its count from one less
	huge.Counts()[0], huge.Counts()[1] = 1<<60+128, 1
	if got, want := huge.Quantile(1), stats.Bound(1); got != want {
		t.Errorf("Quantile(1) of a huge Histogram = %v, want %v", got, want)
	}
	if got := (stats.Histogram{}).Quantile(0.5); got != 0 {
		t.Errorf("Quantile of an empty Histogram = %v, want 0", got)
	}
	if got, want := observed(time.Hour).Quantile(0.5), stats.Bound(stats.Buckets-2); got != want {
		t.Errorf("Quantile of an hour = %v, want the greatest finite bound, %v", got, want)
	}
}

func TestPlusAndMinusUndoEachOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := someDurations.Draw(t, "a"), someDurations.Draw(t, "b")
		ha, hb := observed(a...), observed(b...)
		both := observed(append(slices.Clone(a), b...)...)
		if got := ha.Plus(hb); got != both {
			t.Fatalf("Plus: got %v, want %v", got, both)
		}
		if got := both.Minus(ha); got != hb {
			t.Fatalf("Minus: got %v, want %v", got, hb)
		}
		if got := ha.Minus(both); got != (stats.Histogram{}) {
			t.Fatalf("Minus a later one: got %v, want an empty one", got)
		}
	})
}

// Every duration is exactly the first bound, so the sum is known from the count.
// One bucket and many rounds, because the moments in which a wrong order shows
// are short.
func TestHistogramDuringObserveIsConsistent(t *testing.T) {
	const writers, each = 4, 500_000
	var d stats.DurationRecorder
	var wg sync.WaitGroup
	var running atomic.Int32
	for range writers {
		running.Add(1)
		wg.Go(func() {
			defer running.Add(-1)
			for range each {
				d.Observe(stats.Bound(0))
			}
		})
	}
	var last uint64
	for running.Load() > 0 {
		h := d.Histogram()
		n := h.Count()
		if n < last {
			t.Errorf("Count went from %d to %d", last, n)
			break
		}
		if allowed := time.Duration(n) * stats.Bound(0); h.Sum() > allowed {
			t.Errorf("Sum = %v, but %d durations are no more than %v", h.Sum(), n, allowed)
			break
		}
		last = n
	}
	wg.Wait()
	h := d.Histogram()
	if want := time.Duration(writers*each) * stats.Bound(0); h.Count() != writers*each || h.Sum() != want {
		t.Errorf("got %d durations, %v; want %d, %v", h.Count(), h.Sum(), writers*each, want)
	}
}

func TestObserveAllocatesNothing(t *testing.T) {
	var d stats.DurationRecorder
	took := time.Duration(1)
	if got := testing.AllocsPerRun(1000, func() { d.Observe(took); took *= 3 }); got != 0 {
		t.Errorf("Observe allocates %v times, want 0", got)
	}
}

func BenchmarkObserve(b *testing.B) {
	var d stats.DurationRecorder
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		d.Observe(time.Duration(i))
	}
}
