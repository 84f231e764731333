package stats_test

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// A counter far below the greatest uint64, so that sums of a few do not wrap.
var counters = rapid.Uint64Range(0, 1<<40)

func drawSnapshot(t *rapid.T, label string) stats.Snapshot {
	var s stats.Snapshot
	leaves(reflect.ValueOf(&s).Elem(), "", func(path string, leaf reflect.Value) {
		setLeaf(leaf, counters.Draw(t, label+" "+path))
	})
	return s
}

// add returns a+b, field by field, except that gauges are those of b.
func add(a, b stats.Snapshot) stats.Snapshot {
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
	rapid.Check(t, func(t *rapid.T) {
		earlier, since := drawSnapshot(t, "earlier"), drawSnapshot(t, "since")
		later := add(earlier, since)
		if got := later.Minus(earlier); got != since {
			t.Fatalf("later.Minus(earlier)\n got %+v\nwant %+v", got, since)
		}
		if got := later.Minus(stats.Snapshot{}); got != later {
			t.Fatalf("later.Minus(zero)\n got %+v\nwant %+v", got, later)
		}
	})
}

func TestMinusStopsAtZero(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		earlier, since := drawSnapshot(t, "earlier"), drawSnapshot(t, "since")
		later := add(earlier, since)
		got := earlier.Minus(later)
		leaves(reflect.ValueOf(&got).Elem(), "", func(path string, leaf reflect.Value) {
			if !isGauge(path) && leafValue(leaf) != 0 {
				t.Fatalf("earlier.Minus(later).%s = %d, want 0", path, leafValue(leaf))
			}
		})
		if got.Entries != earlier.Entries {
			t.Fatalf("earlier.Minus(later).Entries = %d, want its own %d", got.Entries, earlier.Entries)
		}
	})
}

func TestHitRatio(t *testing.T) {
	tests := []struct {
		hits, misses uint64
		want         float64
	}{
		{0, 0, 0},
		{0, 7, 0},
		{7, 0, 1},
		{3, 1, 0.75},
	}
	for _, test := range tests {
		s := stats.Snapshot{Hits: test.hits, Misses: test.misses}
		if got := s.HitRatio(); got != test.want {
			t.Errorf("%d hits, %d misses: HitRatio = %v, want %v", test.hits, test.misses, got, test.want)
		}
		if got, want := s.Gets(), test.hits+test.misses; got != want {
			t.Errorf("%d hits, %d misses: Gets = %d, want %d", test.hits, test.misses, got, want)
		}
	}
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
