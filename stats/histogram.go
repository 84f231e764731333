package stats

import (
	"iter"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/histogram"
)

// A Histogram counts durations in buckets. The zero Histogram is empty.
//
// A Histogram is a value without pointers: it may be copied, compared with == and read by
// several goroutines.
type Histogram histogram.Histogram

func (h Histogram) data() histogram.Histogram { return histogram.Histogram(h) }

// Count returns the number of durations.
func (h Histogram) Count() uint64 { return h.data().Count() }

// Sum returns the sum of all durations, at most the greatest Duration, 292 years.
func (h Histogram) Sum() time.Duration { return h.data().Sum() }

// Buckets yields the upper bound of each bucket and the number of durations in it,
// from the shortest to the longest. A duration that equals a bound is in the bucket
// below it. The last bucket has no upper bound, and yields the greatest Duration,
// [math.MaxInt64]. Each bound is twice the one before, from 16 µs to 34 s, and from 67 ms to
// 39 h of the ages in EvictedAge; a later version of this package may have others.
func (h Histogram) Buckets() iter.Seq2[time.Duration, uint64] { return h.data().Buckets() }

// Quantile estimates the q-quantile of the durations: 0.5 asks for the median. It finds
// the bucket and interpolates linearly between its bounds, so it is off by a factor of two
// at most. In the last bucket, which has no upper bound, it returns the greatest finite
// bound, about 34 s, or 39 h of ages.
//
// Quantile returns 0 for an empty Histogram. A q below 0 or NaN counts as 0, one above 1
// as 1.
func (h Histogram) Quantile(q float64) time.Duration { return h.data().Quantile(q) }
