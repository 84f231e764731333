package main

import (
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/bench/results"
)

// TestHandOver checks only that a probe ends, however busy the processors are.
func TestHandOver(t *testing.T) {
	if took := handOver(time.Millisecond); took <= 0 {
		t.Errorf("a cache line takes %v from one thread to another", took)
	}
}

func TestBetween(t *testing.T) {
	for _, test := range [][3]string{
		{results.Near, results.Near, results.Near},
		{results.Far, results.Far, results.Far},
		{results.Near, results.Far, results.Mixed},
		{results.Far, results.Mixed, results.Mixed},
	} {
		if got := between(test[0], test[1]); got != test[2] {
			t.Errorf("between(%s, %s) = %s, want %s", test[0], test[1], got, test[2])
		}
	}
}
