package stats_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
		{"exact", 50, 50, whatIf{100, 30, 50, 60, 30}, 0.3, 0.6, true},
		{"no difference", 50, 50, whatIf{100, 70, 70, 70, 70}, 0.5, 0.5, true},
		{"of a sample that hits less", 50, 50, whatIf{100, 10, 20, 40, 10}, 0.4, 0.7, true},
		// A key that a fourth of all gets are for is in the sample, or not.
		{"of a sample with a hot key", 50, 50, whatIf{400, 310, 320, 340, 310}, 0.4, 0.7, true},
		{"of a sample without", 50, 50, whatIf{75, 10, 20, 40, 10}, 0.4, 0.7, true},
		{"below nothing", 10, 90, whatIf{100, 10, 50, 50, 10}, 0, 0.1, true},
		{"above everything", 90, 10, whatIf{100, 50, 50, 90, 50}, 0.9, 1, true},
		{"half is better", 50, 50, whatIf{100, 60, 50, 40, 60}, 0.6, 0.4, true},
	} {
		s := stats.Snapshot{Hits: test.hits, Misses: test.misses, WhatIf: test.whatIf}
		half, okHalf := s.WhatIfHitRatio(s.WhatIf.Half)
		double, okDouble := s.WhatIfHitRatio(s.WhatIf.Double)
		other, okOther := s.WhatIfHitRatio(s.WhatIf.OtherPolicy) // which has as many hits as half
		if okHalf != test.ok || okDouble != test.ok || okOther != test.ok || other != half || math.Abs(half-test.half) > 1e-12 || math.Abs(double-test.double) > 1e-12 {
			t.Errorf("%s: %v, %v at half, %v, %v with the other policy and %v, %v at double; want %v, %v and %v", test.name, half, okHalf, other, okOther, double, okDouble, test.half, test.double, test.ok)
		}
	}
}

// TestWhatIfIsOfTheLastMinutes: the estimates are of the last minutes, and begin anew when
// the limit is changed.
func TestWhatIfIsOfTheLastMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r stats.Registry
		s := stats.Snapshot{Limit: 100}
		r.Register("users", of(&s))
		h := r.Handler()
		// pass lets time pass in which one get in ten hits; half and double are how many would hit with
		// those limits.
		pass := func(length time.Duration, half, double uint64) {
			for range length / time.Second {
				s.Hits, s.Misses = s.Hits+1, s.Misses+9
				s.WhatIf.Gets, s.WhatIf.Same = s.WhatIf.Gets+10, s.WhatIf.Same+1
				s.WhatIf.Half, s.WhatIf.Double = s.WhatIf.Half+half, s.WhatIf.Double+double
				sleep(time.Second)
			}
		}
		check := func(when string, half, double float64) {
			t.Helper()
			got := flat(readJSON(t, h).Caches[0], "", map[string]any{})
			for path, want := range map[string]float64{"what_if.half.limit": float64(s.Limit / 2), "what_if.half.hit_ratio": half,
				"what_if.double.limit": float64(s.Limit * 2), "what_if.double.hit_ratio": double} {
				if got, ok := got[path].(float64); !ok || math.Abs(got-want) > 0.005 { // samples are 5 s apart
					t.Errorf("%s: %s is %v, want %v", when, path, got, want)
				}
			}
		}
		pass(10*time.Minute, 1, 9)
		check("at first", 0.1, 0.9)
		pass(6*time.Minute, 0, 2)
		check("after six minutes of other traffic", 0, 0.2)
		sleep(time.Second / 2) // not at the moment of a sample
		s.Limit = 1000
		if got := readJSON(t, h).Caches[0]["what_if"]; got != nil {
			t.Errorf("what_if is %v before there was a sample with the limit", got)
		}
		pass(20*time.Second, 1, 6)
		check("after a Resize", 0.1, 0.6)
		pass(6*time.Minute, 0, 0)
		s.Limit = 100
		pass(10*time.Second, 0, 4)
		check("with a limit that it had before", 0, 0.4)
	})
}

// TestWhatIfWithoutAHistory: without a history the estimates are of the whole time. Double the
// limit does not overflow, and a cache without a limit, after a Resize, has no estimates.
func TestWhatIfWithoutAHistory(t *testing.T) {
	for limit, want := range map[int]string{
		10:              `{"half":{"limit":5,"hit_ratio":0.2},"same":{"limit":10,"hit_ratio":0.5},"double":{"limit":20,"hit_ratio":0.8},"other_policy":{"limit":10,"hit_ratio":0.7}}`,
		math.MaxInt - 1: fmt.Sprintf(`{"half":{"limit":%d,"hit_ratio":0.2},"same":{"limit":%d,"hit_ratio":0.5},"double":{"limit":%[2]d,"hit_ratio":0.8}`, math.MaxInt/2, math.MaxInt-1),
		0:               "null",
	} {
		var r stats.Registry
		r.Register("users", always(stats.Snapshot{Hits: 5, Misses: 5, Limit: limit, WhatIf: stats.WhatIf{Gets: 10, Half: 2, Same: 5, Double: 8, OtherPolicy: 7}}))
		if got := r.VarString(); !strings.Contains(got, `"what_if":`+want) {
			t.Errorf("%s, want %s in it", got, want)
		}
	}
}
