package pairs

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

// leaks checks the goroutines and the memory in use at each rest.
type leaks struct {
	base  int // goroutines at the beginning
	began time.Time
	rests []sample // with the caches empty
}

// A sample is how much memory was in use at a time, in seconds and bytes.
type sample struct{ at, heap float64 }

const (
	// The first warmUp-th of the samples does not count for the trend: pools, stacks
	// of the runtime and records of the keys are still growing.
	warmUp     = 4
	fewSamples = 8

	// The heap has grown if the line through the samples rises by more than least plus
	// a fiftieth of the mean, and its slope is above this many standard errors.
	least      = 1 << 20
	deviations = 4
)

func (l *leaks) begin() {
	l.began, l.base = time.Now(), runtime.NumGoroutine()
	for range 20 { // some may still be ending
		time.Sleep(ms)
		l.base = min(l.base, runtime.NumGoroutine())
	}
}

// check returns an error if there are more goroutines than at the beginning, or if much more
// memory is in use than at the first rest with the caches empty.
func (l *leaks) check(empty bool, patience time.Duration) error {
	for end := time.Now().Add(patience); runtime.NumGoroutine() > l.base; time.Sleep(ms) {
		if time.Now().After(end) {
			var stacks strings.Builder
			_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
			return fmt.Errorf("%d goroutines, %d at the beginning\n%s", runtime.NumGoroutine(), l.base, &stacks)
		}
	}
	if !empty {
		return nil
	}
	heap := float64(settle.Heap())
	l.rests = append(l.rests, sample{time.Since(l.began).Seconds(), heap})
	if first := l.rests[0].heap; heap > 1.5*first+16<<20 {
		return fmt.Errorf("%.0f bytes are in use with all caches empty, %.0f at the first rest", heap, first)
	}
	return nil
}

func (l *leaks) String() string {
	if len(l.rests) == 0 {
		return "no rest with the caches empty"
	}
	growth, _ := grown(l.rests)
	return fmt.Sprintf("heap with all caches empty: %.2f MB first, %.2f MB last, trend after the warm-up %+.2f MB, %d samples",
		l.rests[0].heap/1e6, l.rests[len(l.rests)-1].heap/1e6, growth/1e6, len(l.rests))
}

// grown returns how far the line through the samples after the warm-up rises, and whether
// that is a leak.
func grown(samples []sample) (growth float64, sure bool) {
	samples = samples[len(samples)/warmUp:]
	if len(samples) < fewSamples {
		return 0, false
	}
	slope, deviation, mean := line(samples)
	growth = slope * (samples[len(samples)-1].at - samples[0].at)
	return growth, growth > least+mean/50 && slope > deviations*deviation
}

// line returns the slope of the line through samples by least squares, the standard
// error of it, and the mean.
func line(samples []sample) (slope, deviation, mean float64) {
	n := float64(len(samples))
	var at float64
	for _, s := range samples {
		at += s.at / n
		mean += s.heap / n
	}
	var xx, xy float64
	for _, s := range samples {
		xx += (s.at - at) * (s.at - at)
		xy += (s.at - at) * (s.heap - mean)
	}
	slope = xy / xx
	var rest float64
	for _, s := range samples {
		d := s.heap - mean - slope*(s.at-at)
		rest += d * d
	}
	return slope, math.Sqrt(rest / (n - 2) / xx), mean
}

// TestTrend checks when a growing heap counts as a leak.
//
// Catches: a leak that hides in the noise of the samples, and noise that is taken for
// a leak.
func TestTrend(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	samples := func(n int, f func(x float64) float64) (s []sample) {
		for i := range n {
			x := float64(i) / float64(n)
			s = append(s, sample{at: 20 * float64(i), heap: 30e6 + f(x) + 200e3*rng.NormFloat64()})
		}
		return s
	}
	for name, c := range map[string]struct {
		samples []sample
		leak    bool
	}{
		"level":               {samples(60, func(float64) float64 { return 0 }), false},
		"leak":                {samples(60, func(x float64) float64 { return 4e6 * x }), true},
		"warm-up":             {samples(60, func(x float64) float64 { return 5e6 * math.Min(x, 0.2) }), false},
		"steps up and down":   {samples(60, func(x float64) float64 { return 3e6 * math.Round(math.Mod(4*x, 1)) }), false},
		"falling":             {samples(60, func(x float64) float64 { return -4e6 * x }), false},
		"too few to be known": {samples(6, func(x float64) float64 { return 4e6 * x }), false},
	} {
		if growth, leak := grown(c.samples); leak != c.leak {
			t.Errorf("%s: a leak: %v, want %v; growth %.0f", name, leak, c.leak, growth)
		}
	}
}
