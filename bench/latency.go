package main

import (
	"math/bits"
	"time"
)

// latencies counts times by their length, to 3 %.
type latencies struct {
	counts [64 * 32]uint64
	n      uint64
	max    time.Duration
}

// add counts the time since began and returns the present time.
func (l *latencies) add(began time.Time) time.Time {
	now := time.Now()
	took := now.Sub(began)
	l.counts[bucket(uint64(took))]++
	l.n++
	l.max = max(l.max, took)
	return now
}

// bucket returns the place of a number: its six highest bits and how many follow.
func bucket(ns uint64) int {
	shift := max(bits.Len64(ns)-6, 0)
	return shift*32 + int(ns>>shift)
}

// at returns a quantile in nanoseconds.
func (l *latencies) at(fraction float64) float64 {
	left := fraction * float64(l.n)
	for i, count := range l.counts {
		if left -= float64(count); left < 0 {
			shift := max(i/32-1, 0)
			return float64(uint64(i-shift*32) << shift)
		}
	}
	return float64(l.max)
}

// figures returns the percentiles.
func (l *latencies) figures(name string) []figure {
	return []figure{
		{name + " p50 ns", l.at(0.5)},
		{name + " p99 ns", l.at(0.99)},
		{name + " p99.9 ns", l.at(0.999)},
		{name + " max ns", float64(l.max)},
	}
}
