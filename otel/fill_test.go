package otelpinwheel_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/histogram"
	"github.com/pinwheel-cache/pinwheel/internal/sources"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// registerCache registers a cache that reports s until the test ends.
func registerCache(t testing.TB, name string, s *stats.Snapshot) {
	t.Helper()
	_, unregister := sources.Register(sources.Cache[stats.Snapshot]{Name: name, Snapshot: func() (stats.Snapshot, bool) { return *s, true }})
	t.Cleanup(unregister)
}

// registerWheel registers a timing wheel that reports w until the test ends.
func registerWheel(t testing.TB, name string, w *stats.WheelSnapshot) {
	t.Helper()
	_, unregister := sources.Register(sources.Wheel[stats.WheelSnapshot]{Name: name, Snapshot: func() (stats.WheelSnapshot, bool) { return *w, true }})
	t.Cleanup(unregister)
}

// numbers are different ones, so that none is taken for another.
type numbers uint64

func (n *numbers) next() uint64 { *n++; return uint64(*n) }

// full returns what a cache reports that has something in every number.
func full(n *numbers) (s stats.Snapshot) {
	n.fill(reflect.ValueOf(&s).Elem())
	s.Misses += 1000 // more than the expired ones, as in a real cache
	return s
}

// fullWheel returns what a timing wheel reports that has something in every number.
func fullWheel(n *numbers) (w stats.WheelSnapshot) {
	n.fill(reflect.ValueOf(&w).Elem())
	return w
}

// fill gives each number in v one of its own.
func (n *numbers) fill(v reflect.Value) {
	switch to := v.Addr().Interface().(type) {
	case *stats.Histogram:
		var r histogram.DurationRecorder
		n.observe(r.Observe)
		*to = stats.Histogram(r.Histogram())
	case *uint64:
		*to = n.next()
	case *int:
		*to = int(n.next())
	case *float64:
		*to = float64(n.next())
	case *bool:
		*to = true
	case *time.Duration:
		*to = time.Duration(n.next()) * time.Second
	default:
		for i := range v.NumField() {
			n.fill(v.Field(i))
		}
	}
}

// observe observes another number of durations for each bucket.
func (n *numbers) observe(observe func(time.Duration)) {
	for bound := range (stats.Histogram{}).Buckets() {
		for range n.next() {
			observe(min(bound, time.Minute))
		}
	}
}
