package vitals

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// TestReading checks that a Reading has the memory, its limit and the times of the collector.
func TestReading(t *testing.T) {
	before := Read()
	if before.Heap <= 0 || before.Limit != 0 && before.Limit >= math.MaxInt64 {
		t.Errorf("%+v", before)
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(1 << 40))
	runtime.GC()
	if after := Read(); after.Limit != 1<<40 || after.Collector <= before.Collector || after.CPU <= before.CPU || after.Busy(before) <= 0 || after.Busy(before) > 1 {
		t.Errorf("%+v after %+v", after, before)
	}
	if before.Busy(before) != 0 {
		t.Error("the collector was busy in no time")
	}
}

// TestStops checks that only a timer that is 10 s late is a stop.
func TestStops(t *testing.T) {
	var s Stops
	for i, late := range []time.Duration{-time.Hour, 0, 9 * time.Second, 31 * time.Second} {
		before := time.Now()
		s.Note(before.Add(-late))
		if n, length, end := s.Last(); (n > 0) != (i == 3) || n > 0 && (length < late || end.Before(before)) {
			t.Errorf("%v late: %d stops, of %v until %v", late, n, length, end)
		}
	}
}
