// Package histogram counts durations. Package stats shows its [Histogram] to programs.
package histogram

import (
	"iter"
	"math"
	"math/bits"
	"sync/atomic"
	"time"
)

// buckets is the number of buckets of a [Histogram].
const buckets = 23

// firstBits makes the first bound 2^14 ns, 16.4 µs: shorter loads are all alike. With the
// present number of buckets, which must change with it, the last finite bound is 2^35 ns,
// 34.4 s.
const firstBits = 14

// ageBits is the scale of ages: a load takes milliseconds, and an entry lives for minutes or
// days.
const ageBits = 12

// bound returns the upper bound of bucket i: it counts the durations d with
// bound(i-1) < d <= bound(i), and bucket 0 those up to bound(0). The last bucket
// has no upper bound, and for it bound returns the greatest Duration.
func bound(i int) time.Duration {
	if i == buckets-1 {
		return math.MaxInt64
	}
	return 1 << (firstBits + i)
}

// bucket returns the number of the bucket that counts d.
func bucket(d time.Duration) int {
	if d <= 1<<firstBits {
		return 0
	}
	// d-1, because a bound belongs to the bucket below it.
	return min(bits.Len64(uint64(d-1))-firstBits, buckets-1)
}

// A Histogram counts durations in buckets. The zero Histogram is empty. A
// [DurationRecorder] records durations, an [AgeRecorder] longer ones.
type Histogram struct {
	counts [buckets]uint64 // durations in each bucket; see bound
	sum    time.Duration   // of all durations counted
	scale  uint8           // ageBits of ages, else 0: counts and sum are of durations >> scale
}

// scaled returns a duration that was counted, or a bound, in nanoseconds.
func (h Histogram) scaled(d time.Duration) time.Duration {
	if d > math.MaxInt64>>h.scale {
		return math.MaxInt64
	}
	return d << h.scale
}

// Count returns the number of durations.
func (h Histogram) Count() uint64 {
	var n uint64
	for _, c := range h.counts {
		n += c
	}
	return n
}

// Sum returns the sum of all durations, at most the greatest Duration, 292 years.
func (h Histogram) Sum() time.Duration { return h.scaled(h.sum) }

// Mean returns the mean of the durations, and 0 for an empty Histogram.
func (h Histogram) Mean() time.Duration {
	n := h.Count()
	if n == 0 {
		return 0
	}
	return h.scaled(time.Duration(uint64(h.sum) / n))
}

// Buckets yields the upper bound of each bucket and the number of durations in it,
// from the shortest to the longest. A duration that equals a bound is in the bucket
// below it. The last bucket has no upper bound, and yields the greatest Duration,
// [math.MaxInt64]. Each bound is twice the one before, from 16 µs to 34 s, and from 67 ms to
// 39 h if an [AgeRecorder] made the Histogram; a later version of this package may have
// others.
func (h Histogram) Buckets() iter.Seq2[time.Duration, uint64] {
	return func(yield func(time.Duration, uint64) bool) {
		for i, n := range h.counts {
			if !yield(h.scaled(bound(i)), n) {
				return
			}
		}
	}
}

// Quantile estimates the q-quantile of the durations: 0.5 asks for the median. It finds
// the bucket and interpolates linearly between its bounds, so it is off by a factor of two
// at most. In the last bucket, which has no upper bound, it returns the greatest finite
// bound, about 34 s, or 39 h of ages.
//
// Quantile returns 0 for an empty Histogram. A q below 0 or NaN counts as 0, one above 1
// as 1.
func (h Histogram) Quantile(q float64) time.Duration {
	if math.IsNaN(q) {
		q = 0
	}
	rank := min(max(q, 0), 1) * float64(h.Count())
	var below uint64 // durations in the buckets before i
	for i, n := range h.counts {
		upTo := below + n
		if n > 0 && rank <= float64(upTo) {
			// Counts beyond 2^53 are rounded, so part may be above 1.
			part := (rank - float64(below)) / float64(n)
			return h.scaled(interpolate(i, min(part, 1)))
		}
		below = upTo
	}
	return 0 // it is empty, or else rank is at most the last upTo
}

// interpolate returns the quantile of the durations in bucket i.
func interpolate(i int, part float64) time.Duration {
	if i == buckets-1 {
		return bound(i - 1)
	}
	var lower time.Duration
	if i > 0 {
		lower = bound(i - 1)
	}
	return lower + time.Duration(part*float64(bound(i)-lower))
}

// Minus returns the durations that were counted after earlier was taken. A
// bucket that counts fewer than earlier gives 0. Minus panics if one of the two has durations
// and the other has ages.
func (h Histogram) Minus(earlier Histogram) Histogram {
	h.match(earlier)
	for i, n := range earlier.counts {
		h.counts[i] -= min(n, h.counts[i])
	}
	h.sum = max(h.sum-earlier.sum, 0)
	if h == (Histogram{scale: h.scale}) {
		return Histogram{} // nothing is the same of durations and of ages
	}
	return h
}

// Plus returns the durations of both Histograms together. It panics if one of the two has
// durations and the other has ages.
func (h Histogram) Plus(other Histogram) Histogram {
	h.match(other)
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.sum = duration(uint64(h.sum) + uint64(other.sum))
	return h
}

// match gives h the bounds of other if h counts nothing, and panics if they have different
// bounds and both count something.
func (h *Histogram) match(other Histogram) {
	switch {
	case h.scale == other.scale || other.Count() == 0:
	case h.Count() == 0:
		h.scale = other.scale
	default:
		panic("histogram: one Histogram has durations and the other has ages: their bounds differ")
	}
}

// A DurationRecorder records durations for a [Histogram]. The zero DurationRecorder
// is empty and ready to use. It is safe for concurrent use, and must not be copied
// after first use.
type DurationRecorder struct {
	counts [buckets]atomic.Uint64
	sum    atomic.Uint64 // of nanoseconds
}

// Observe records a duration. A negative one counts as 0. It makes two atomic additions,
// never waits and never allocates.
func (r *DurationRecorder) Observe(took time.Duration) {
	took = max(took, 0)
	// The count before the sum: Histogram reads the sum first.
	r.counts[bucket(took)].Add(1)
	r.sum.Add(uint64(took))
}

// Histogram returns the durations recorded so far. It may have the count of a concurrent
// Observe without its duration in Sum, but never the duration without the count. So the
// mean is never too high.
func (r *DurationRecorder) Histogram() Histogram {
	h := Histogram{sum: duration(r.sum.Load())}
	for i := range r.counts {
		h.counts[i] = r.counts[i].Load()
	}
	return h
}

// An AgeRecorder records how old values were. Its [Histogram] has longer bounds than that of
// a [DurationRecorder]. The zero AgeRecorder is empty and ready to use. It is safe for
// concurrent use, and must not be copied after first use.
type AgeRecorder struct{ scaled DurationRecorder }

// Observe records an age, rounded down to a multiple of 4096 ns. A negative one counts
// as 0. It makes two atomic additions, never waits and never allocates.
func (r *AgeRecorder) Observe(age time.Duration) { r.scaled.Observe(max(age, 0) >> ageBits) }

// Histogram returns the ages recorded so far, as [DurationRecorder.Histogram] does.
func (r *AgeRecorder) Histogram() Histogram {
	h := r.scaled.Histogram()
	if h != (Histogram{}) {
		h.scale = ageBits
	}
	return h
}

// duration converts a sum of nanoseconds; the greatest Duration stands for more.
func duration(nanoseconds uint64) time.Duration {
	return time.Duration(min(nanoseconds, math.MaxInt64))
}
