package stats_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/pinwheel-cache/pinwheel/stats"
)

func TestHitRatioAtOtherLimits(t *testing.T) {
	type ghosts = stats.Ghosts
	for _, test := range []struct {
		name         string
		hits, misses uint64
		ghosts       ghosts
		half, double float64
		ok           bool
	}{
		{"unused", 0, 0, ghosts{}, 0, 0, false},
		{"without ghosts", 50, 50, ghosts{}, 0, 0, false},
		{"only ghosts", 0, 0, ghosts{Gets: 1, Half: 1}, 0, 0, false},
		{"exact", 50, 50, ghosts{100, 30, 50, 60}, 0.3, 0.6, true},
		{"no difference", 50, 50, ghosts{100, 70, 70, 70}, 0.5, 0.5, true},
		{"of a sample that hits less", 50, 50, ghosts{100, 10, 20, 40}, 0.4, 0.7, true},
		// A key that a fourth of all gets are for is in the sample, or not.
		{"of a sample with a hot key", 50, 50, ghosts{400, 310, 320, 340}, 0.4, 0.7, true},
		{"of a sample without", 50, 50, ghosts{75, 10, 20, 40}, 0.4, 0.7, true},
		{"below nothing", 10, 90, ghosts{100, 10, 50, 50}, 0, 0.1, true},
		{"above everything", 90, 10, ghosts{100, 50, 50, 90}, 0.9, 1, true},
		{"half is better", 50, 50, ghosts{100, 60, 50, 40}, 0.6, 0.4, true},
	} {
		s := stats.Snapshot{Hits: test.hits, Misses: test.misses, Ghosts: test.ghosts}
		half, okHalf := s.HitRatioAtHalf()
		double, okDouble := s.HitRatioAtDouble()
		if okHalf != test.ok || okDouble != test.ok || math.Abs(half-test.half) > 1e-12 || math.Abs(double-test.double) > 1e-12 {
			t.Errorf("%s: %v, %v at half and %v, %v at double; want %v, %v and %v", test.name, half, okHalf, double, okDouble, test.half, test.double, test.ok)
		}
	}
}

// TestHitRatiosAreRatios, whatever was counted.
func TestHitRatiosAreRatios(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw[stats.Snapshot](t, "s")
		for _, f := range []func() (float64, bool){s.HitRatioAtHalf, s.HitRatioAtDouble} {
			if ratio, ok := f(); !(ratio >= 0 && ratio <= 1) || ok != (s.Ghosts.Gets > 0 && s.Gets() > 0) {
				t.Fatalf("%v, %v", ratio, ok)
			}
		}
	})
}
