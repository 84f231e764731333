package stats

import (
	"math"
	"time"
)

// ageScale is what ages are divided by to be counted like durations: a load takes
// milliseconds, and an entry lives for minutes or days.
const ageScale = 4096

// AgeBound returns the upper bound of bucket i of [Ages], as [Bound] does for a
// [Histogram]: the first is 67 ms, the last finite one 39 h.
func AgeBound(i int) time.Duration {
	if i == Buckets-1 {
		return Bound(i)
	}
	return Bound(i) * ageScale
}

// Ages tells how old something was. It is a [Histogram] with greater bounds, which
// are those of [AgeBound]. The zero Ages are empty. Ages are a value without
// pointers.
type Ages struct {
	Counts [Buckets]uint64 // ages in each bucket; see [AgeBound]
	Sum    time.Duration   // of all ages counted, a multiple of 4096 ns; stops at the greatest Duration
}

// Count returns the number of ages.
func (a Ages) Count() uint64 { return a.histogram().Count() }

// Quantile returns an estimate of the age that a part q of all does not exceed, as
// [Histogram.Quantile] does.
func (a Ages) Quantile(q float64) time.Duration { return a.histogram().Quantile(q) * ageScale }

// Minus returns the ages that were counted after earlier was taken. A bucket that
// counts fewer than earlier gives 0.
func (a Ages) Minus(earlier Ages) Ages {
	return Ages{
		Counts: a.histogram().Minus(earlier.histogram()).Counts,
		Sum:    max(a.Sum-earlier.Sum, 0),
	}
}

// histogram returns the counts of ages as if of durations so much shorter.
func (a Ages) histogram() Histogram { return Histogram{Counts: a.Counts} }

// An AgeRecorder records ages for [Ages], as [Durations] does for a [Histogram]. The
// zero AgeRecorder is empty and ready to use. It is safe for concurrent use, and
// must not be copied after first use.
type AgeRecorder struct{ durations Durations }

// Observe records an age, rounded down to a multiple of 4096 ns. A negative one counts
// as 0.
func (r *AgeRecorder) Observe(age time.Duration) { r.durations.Observe(age / ageScale) }

// Ages returns the ages recorded so far.
func (r *AgeRecorder) Ages() Ages {
	h := r.durations.Histogram()
	return Ages{Counts: h.Counts, Sum: min(h.Sum, math.MaxInt64/ageScale) * ageScale}
}
