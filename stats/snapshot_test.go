package stats_test

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

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
	var from []uint64
	leaves(reflect.ValueOf(&a).Elem(), "", func(_ string, leaf reflect.Value) {
		from = append(from, leafValue(leaf))
	})
	i := 0
	leaves(reflect.ValueOf(&b).Elem(), "", func(path string, leaf reflect.Value) {
		if !isGauge(path) {
			setLeaf(leaf, leafValue(leaf)+from[i])
		}
		i++
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

func TestRemovalsTotalHasEveryCause(t *testing.T) {
	var r stats.Removals
	var want, n uint64
	leaves(reflect.ValueOf(&r).Elem(), "", func(_ string, leaf reflect.Value) {
		n = 10*n + 1
		want += n
		setLeaf(leaf, n)
	})
	if got := r.Total(); got != want {
		t.Errorf("Total = %d, want %d", got, want)
	}
}
