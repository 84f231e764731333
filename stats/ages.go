package stats

import (
	"iter"
	"math"
	"time"
)

// ageScale divides ages, so that a Histogram can count them: a load takes milliseconds, and
// an entry lives for minutes or days.
const ageScale = 4096

// Ages is a [Histogram] for longer times: how old values were. The zero Ages is empty. An
// [AgeRecorder] records ages.
//
// Ages is a value without pointers: it may be copied, compared with == and read by several
// goroutines.
type Ages struct {
	scaled Histogram // of each age divided by ageScale
}

// Count returns the number of ages.
func (a Ages) Count() uint64 { return a.scaled.Count() }

// Sum returns the sum of all ages, each rounded down to a multiple of 4096 ns. It is at
// most the greatest such Duration, 292 years.
func (a Ages) Sum() time.Duration { return min(a.scaled.sum, math.MaxInt64/ageScale) * ageScale }

// Mean returns the mean of the ages, and 0 for empty Ages.
func (a Ages) Mean() time.Duration { return a.scaled.Mean() * ageScale }

// Quantile estimates the q-quantile of the ages, as [Histogram.Quantile] does. In the last
// bucket it returns 39 h.
func (a Ages) Quantile(q float64) time.Duration { return a.scaled.Quantile(q) * ageScale }

// Buckets yields bounds and counts as [Histogram.Buckets] does, with bounds from 67 ms to
// 39 h.
func (a Ages) Buckets() iter.Seq2[time.Duration, uint64] {
	return func(yield func(time.Duration, uint64) bool) {
		for bound, n := range a.scaled.Buckets() {
			if bound != math.MaxInt64 {
				bound *= ageScale
			}
			if !yield(bound, n) {
				return
			}
		}
	}
}

// Minus returns the ages that were counted after earlier was taken. A bucket that
// counts fewer than earlier gives 0.
func (a Ages) Minus(earlier Ages) Ages { return Ages{a.scaled.Minus(earlier.scaled)} }

// Plus returns the ages of both together.
func (a Ages) Plus(other Ages) Ages { return Ages{a.scaled.Plus(other.scaled)} }

// An AgeRecorder records [Ages]. The zero AgeRecorder is empty and ready to use. It is
// safe for concurrent use, and must not be copied after first use.
type AgeRecorder struct{ scaled DurationRecorder }

// Observe records an age, rounded down to a multiple of 4096 ns. A negative one counts
// as 0. It never waits and never allocates.
func (r *AgeRecorder) Observe(age time.Duration) { r.scaled.Observe(age / ageScale) }

// Ages returns the ages recorded so far. They may have the count of a concurrent Observe
// without its age in Sum, but never the age without the count.
func (r *AgeRecorder) Ages() Ages { return Ages{r.scaled.Histogram()} }
