package stats_test

import (
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/pinwheel-cache/pinwheel/internal/numbers"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// counters draws counters far below the greatest uint64, so that sums of a few do not wrap.
var counters = rapid.Uint64Range(0, 1<<40)

// draw returns an S, a Snapshot or a Wheel, of any numbers.
func draw[S any](t *rapid.T, label string) S {
	var s S
	leaves(reflect.ValueOf(&s).Elem(), "", func(path string, leaf reflect.Value) {
		setLeaf(leaf, counters.Draw(t, label+" "+path))
	})
	return s
}

// add returns a+b, field by field, except that gauges are those of b.
func add[S any](a, b S) S {
	var from []uint64 // the counters of a
	counter := func(leaf reflect.Value) uint64 { return leaf.Convert(reflect.TypeFor[uint64]()).Uint() }
	leaves(reflect.ValueOf(&a).Elem(), "", func(path string, leaf reflect.Value) {
		if !isGauge(path) {
			from = append(from, counter(leaf))
		}
	})
	leaves(reflect.ValueOf(&b).Elem(), "", func(path string, leaf reflect.Value) {
		if !isGauge(path) {
			setLeaf(leaf, counter(leaf)+from[0])
			from = from[1:]
		}
	})
	return b
}

func TestMinusTellsWhatHappenedSince(t *testing.T) {
	t.Run("Snapshot", func(t *testing.T) { checkMinus(t, stats.Snapshot.Minus) })
	t.Run("Wheel", func(t *testing.T) { checkMinus(t, stats.WheelSnapshot.Minus) })
}

func checkMinus[S comparable](t *testing.T, minus func(later, earlier S) S) {
	rapid.Check(t, func(t *rapid.T) {
		earlier, since := draw[S](t, "earlier"), draw[S](t, "since")
		later := add(earlier, since)
		if got := minus(later, earlier); got != since {
			t.Fatalf("later.Minus(earlier)\n got %+v\nwant %+v", got, since)
		}
		var zero S
		if got := minus(later, zero); got != later {
			t.Fatalf("later.Minus(zero)\n got %+v\nwant %+v", got, later)
		}
		// A counter that fell is 0, and the gauges are those of the minuend.
		want := earlier
		leaves(reflect.ValueOf(&want).Elem(), "", func(path string, leaf reflect.Value) {
			if !isGauge(path) {
				setLeaf(leaf, 0)
			}
		})
		if got := minus(earlier, later); got != want {
			t.Fatalf("earlier.Minus(later)\n got %+v\nwant %+v", got, want)
		}
	})
}

// gauges are the fields of a Snapshot and of a Wheel that are not cumulative.
var gauges = []string{
	"Entries", "Limit", "Weight", "MaxWeight", "HottestShare",
	"Loads.Running", "Loads.Oldest", "Loads.Queued", "Negatives", "Callbacks.Running", "Callbacks.Oldest", "Expiry.Overdue",
	"Callbacks.Queued", "Expiry.Pending", "Expiry.Tombstones",
	"Near.Serving", "Near.Partial", "Near.Lag", "Near.Behind", "Near.MaxLag", "Near.Audits.OneIn",
	"operation.Failing", "operation.InRow", "operation.Blocked", "operation.Undone",

	"Running",
}

// leaves calls visit for every number in the addressable struct v, with its path. So new
// fields of a Snapshot or Wheel are tested without a change here.
func leaves(v reflect.Value, path string, visit func(path string, leaf reflect.Value)) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if name == "scale" { // of a Histogram: says what the others mean
				continue
			}
			if path != "" {
				name = path + "." + name
			}
			leaves(v.Field(i), name, visit)
		}
	case reflect.Array:
		for i := range v.Len() {
			leaves(v.Index(i), path, visit)
		}
	default:
		if !v.CanSet() { // a private field of a Histogram
			v = reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).Elem()
		}
		visit(path, v)
	}
}

func isGauge(path string) bool { return slices.Contains(gauges, path) }

// setLeaf stores n in a leaf of any type.
func setLeaf(leaf reflect.Value, n uint64) {
	if leaf.Kind() == reflect.Bool {
		leaf.SetBool(n > 0)
		return
	}
	leaf.Set(reflect.ValueOf(n).Convert(leaf.Type()))
}

// distinct and distinctWheel return statistics whose numbers, after n, differ.
func distinct(n uint64) stats.Snapshot           { return numbers.Distinct[stats.Snapshot](n) }
func distinctWheel(n uint64) stats.WheelSnapshot { return numbers.Distinct[stats.WheelSnapshot](n) }

// always returns a source that reports s.
func always[S any](s S) func() (S, bool) {
	return func() (S, bool) { return s, true }
}

// of returns a source that reports what s is then. A test may change s between two calls of sleep.
func of[S any](s *S) func() (S, bool) {
	return func() (S, bool) {
		sleeps.Load()
		return *s, true
	}
}

// sleeps orders what a test has changed before the calls of sources while it sleeps.
var sleeps atomic.Int64

// sleep lets time pass, and runs what is due at its end.
func sleep(d time.Duration) {
	sleeps.Add(1)
	time.Sleep(d)
	synctest.Wait()
}
