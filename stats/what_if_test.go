package stats_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/pinwheel-cache/pinwheel/stats"
)

func TestWhatIf(t *testing.T) {
	type whatIf = stats.WhatIf
	for _, test := range []struct {
		name         string
		hits, misses uint64
		whatIf       whatIf
		half, double float64
		ok           bool
	}{
		{"unused", 0, 0, whatIf{}, 0, 0, false},
		{"without estimates", 50, 50, whatIf{}, 0, 0, false},
		{"only estimates", 0, 0, whatIf{Gets: 1, Half: 1}, 0, 0, false},
		{"exact", 50, 50, whatIf{100, 30, 50, 60}, 0.3, 0.6, true},
		{"no difference", 50, 50, whatIf{100, 70, 70, 70}, 0.5, 0.5, true},
		{"of a sample that hits less", 50, 50, whatIf{100, 10, 20, 40}, 0.4, 0.7, true},
		// A key that a fourth of all gets are for is in the sample, or not.
		{"of a sample with a hot key", 50, 50, whatIf{400, 310, 320, 340}, 0.4, 0.7, true},
		{"of a sample without", 50, 50, whatIf{75, 10, 20, 40}, 0.4, 0.7, true},
		{"below nothing", 10, 90, whatIf{100, 10, 50, 50}, 0, 0.1, true},
		{"above everything", 90, 10, whatIf{100, 50, 50, 90}, 0.9, 1, true},
		{"half is better", 50, 50, whatIf{100, 60, 50, 40}, 0.6, 0.4, true},
	} {
		s := stats.Snapshot{Hits: test.hits, Misses: test.misses, WhatIf: test.whatIf}
		half, okHalf := s.WhatIfHalf()
		double, okDouble := s.WhatIfDouble()
		if okHalf != test.ok || okDouble != test.ok || math.Abs(half-test.half) > 1e-12 || math.Abs(double-test.double) > 1e-12 {
			t.Errorf("%s: %v, %v at half and %v, %v at double; want %v, %v and %v", test.name, half, okHalf, double, okDouble, test.half, test.double, test.ok)
		}
	}
}

// TestWhatIfIsARatio, whatever was counted.
func TestWhatIfIsARatio(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw[stats.Snapshot](t, "s")
		for _, f := range []func() (float64, bool){s.WhatIfHalf, s.WhatIfDouble} {
			if ratio, ok := f(); !(ratio >= 0 && ratio <= 1) || ok != (s.WhatIf.Gets > 0 && s.Gets() > 0) {
				t.Fatalf("%v, %v", ratio, ok)
			}
		}
	})
}
