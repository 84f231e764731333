package histogram

import "time"

// Buckets is the number of buckets of a Histogram.
const Buckets = buckets

func Bound(i int) time.Duration { return bound(i) }

// Counts are the counts of the buckets, to be changed.
func (h *Histogram) Counts() *[Buckets]uint64 { return &h.counts }

func (h *Histogram) SetSum(sum time.Duration) { h.sum = sum }
