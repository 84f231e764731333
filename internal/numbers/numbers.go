// Package numbers is for tests of what shows statistics: it makes some whose numbers differ, so that
// one in the wrong place is noticed.
package numbers

import (
	"reflect"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/histogram"
)

var histograms = reflect.TypeFor[histogram.Histogram]()

// Distinct returns a struct in which each number has a value of its own after n, each histogram
// another count in each bucket, and each bool is true.
func Distinct[S any](n uint64) (s S) {
	v := reflect.ValueOf(&s).Elem()
	fill(v, n)
	if misses := v.FieldByName("Misses"); misses.IsValid() {
		misses.SetUint(misses.Uint() + 1_000_000) // more than the expired ones, as in a real cache
	}
	return s
}

// fill fills v with the values after n, and returns the last.
func fill(v reflect.Value, n uint64) uint64 {
	n++
	switch {
	case v.Type().ConvertibleTo(histograms):
		v.Set(reflect.ValueOf(durations(int(n % 64))).Convert(v.Type()))
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			f := v.Field(i)
			if !f.CanSet() {
				f = reflect.NewAt(f.Type(), f.Addr().UnsafePointer()).Elem()
			}
			n = fill(f, n)
		}
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	default:
		v.Set(reflect.ValueOf(n).Convert(v.Type()))
	}
	return n
}

// durations returns a histogram with more than times durations in each bucket, the more the longer
// they are.
func durations(times int) histogram.Histogram {
	var r histogram.DurationRecorder
	for d := 10 * time.Microsecond; d < 100*time.Hour; d *= 2 {
		times++
		for range times {
			r.Observe(d)
		}
	}
	return r.Histogram()
}
