package stats_test

import (
	"reflect"
	"slices"
	"time"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// gauges are the fields of a Snapshot that are not cumulative.
var gauges = []string{
	"Entries", "Limit", "Weight", "MaxWeight",
	"Callbacks.Queued", "Expiry.Pending", "Expiry.Tombstones",
}

// leaves calls visit for every number in the struct v, with its path. A field
// added to Snapshot is so tested without a word about it here.
func leaves(v reflect.Value, path string, visit func(path string, leaf reflect.Value)) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
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
		visit(path, v)
	}
}

func isGauge(path string) bool {
	return slices.Contains(gauges, path)
}

// setLeaf stores n in a leaf of whatever type.
func setLeaf(leaf reflect.Value, n uint64) {
	if leaf.CanUint() {
		leaf.SetUint(n)
	} else {
		leaf.SetInt(int64(n))
	}
}

// leafValue returns the number in a leaf of whatever type.
func leafValue(leaf reflect.Value) uint64 {
	if leaf.CanUint() {
		return leaf.Uint()
	}
	return uint64(leaf.Int())
}

// distinct returns a Snapshot in which no two numbers are the same, starting
// after n, so that a number shown in the wrong place is noticed.
func distinct(n uint64) stats.Snapshot {
	var s stats.Snapshot
	leaves(reflect.ValueOf(&s).Elem(), "", func(_ string, leaf reflect.Value) {
		n++
		setLeaf(leaf, n)
	})
	// More misses than expired ones, as in a real one.
	s.Misses += 1000 * n
	s.Loads.OK.Sum = 1500 * time.Millisecond
	s.Loads.Failed.Sum = 2500 * time.Millisecond
	s.Expiry.Lateness.Sum = 250 * time.Millisecond
	return s
}

// always returns a source that reports s.
func always(s stats.Snapshot) func() (stats.Snapshot, bool) {
	return func() (stats.Snapshot, bool) { return s, true }
}
