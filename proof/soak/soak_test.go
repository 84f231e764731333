package main

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// short returns the shortest run with every phase.
func short(out *bytes.Buffer) config {
	const phase = 100 * time.Millisecond
	return config{duration: time.Duration(len(phases)) * phase, phase: phase, seed: 1, patience: time.Minute, out: out}
}

// TestShort runs all phases on all subjects.
//
// Catches: a broken promise that shows within seconds, and a check that reports a
// violation wrongly.
func TestShort(t *testing.T) {
	var out bytes.Buffer
	s := newSoak(short(&out))
	s.launch()
	if s.run(t.Context()) != nil || s.total() == 0 || s.watcher.answers.Load() == 0 {
		t.Errorf("%s", &out)
	}
}

// TestInterrupted ends a run early.
//
// Catches: a run that does not end, or ends without a summary.
func TestInterrupted(t *testing.T) {
	var out bytes.Buffer
	c := short(&out)
	c.duration, c.phase = time.Hour, time.Hour
	s := newSoak(c)
	s.launch()
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		defer stop()
		for s.total() == 0 && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
	}()
	if s.run(ctx) != nil || !strings.Contains(out.String(), "violations: none") {
		t.Errorf("%s", &out)
	}
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
