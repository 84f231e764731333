package main

import (
	"math"
	"time"
)

// staleness are quantiles of all reads, in milliseconds.
type staleness struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// buckets are 5 % wide, from a microsecond to half an hour; the first is for 0.
const buckets = 440

// A histogram counts times.
type histogram struct {
	counts [buckets]uint64
	total  uint64
	max    time.Duration
}

func (h *histogram) add(d time.Duration) {
	h.counts[bucketOf(d)]++
	h.total++
	h.max = max(h.max, d)
}

func bucketOf(d time.Duration) int {
	if d < time.Microsecond {
		return 0
	}
	return min(buckets-1, 1+int(math.Log(float64(d/time.Microsecond))/math.Log(1.05)))
}

// quantiles returns upper bounds of the quantiles.
func (h *histogram) quantiles() staleness {
	return staleness{h.quantile(0.50), h.quantile(0.99), milliseconds(h.max)}
}

func (h *histogram) quantile(q float64) float64 {
	left := uint64(math.Ceil(q * float64(h.total)))
	for i, n := range h.counts {
		if n >= left {
			if i == 0 {
				return 0
			}
			return math.Min(math.Pow(1.05, float64(i))/1000, milliseconds(h.max))
		}
		left -= n
	}
	return milliseconds(h.max)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
