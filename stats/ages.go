package stats

import (
	"iter"
	"math"
	"time"
)

// ageScale is what ages are divided by to be counted like durations: a load takes
// milliseconds, and an entry lives for minutes or days.
const ageScale = 4096

// Ages tell how old something was. They are like a [Histogram] for longer times. The
// zero Ages are empty. An [AgeRecorder] makes others.
//
// Ages are a value without pointers: they may be copied, compared with == and read
// from several goroutines.
type Ages struct {
	scaled Histogram // of each age divided by ageScale
}

// Count returns the number of ages.
func (a Ages) Count() uint64 { return a.scaled.Count() }

// Sum returns the sum of all ages, each rounded down to a multiple of 4096 ns. It
// stops at the greatest such Duration, 292 years.
func (a Ages) Sum() time.Duration { return min(a.scaled.sum, math.MaxInt64/ageScale) * ageScale }

// Mean returns the mean of the ages, and 0 for empty Ages.
func (a Ages) Mean() time.Duration { return a.scaled.Mean() * ageScale }

// Quantile returns an estimate of the age that a part q of all does not exceed, as
// [Histogram.Quantile] does. In the last bucket it returns 39 h.
func (a Ages) Quantile(q float64) time.Duration { return a.scaled.Quantile(q) * ageScale }

// Buckets yields bounds and counts as [Histogram.Buckets] does. The bounds are
// others: from 67 ms to 39 h.
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
// as 0. It never waits, and never allocates.
func (r *AgeRecorder) Observe(age time.Duration) { r.scaled.Observe(age / ageScale) }

// Ages returns the ages recorded so far. Of an Observe that runs at the same time they
// may hold the count without the age in Sum, but never the age without the count.
func (r *AgeRecorder) Ages() Ages { return Ages{r.scaled.Histogram()} }
