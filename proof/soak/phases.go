package main

import "time"

// A phase is a part of the run with one kind of load.
type phase struct {
	name     string
	mix      *mix
	workers  int                    // at most
	together bool                   // values with a TTL of their own expire at the same moments
	pauses   bool                   // all workers rest together now and then
	every    time.Duration          // time between two calls of disturb
	disturb  func(s *soak, h *hand) // nil means none; the limits are checked in any case
	short    bool                   // makes and drops caches all the time
}

var phases = []phase{
	{name: "read-mostly", mix: readMostly, workers: 16, every: 50 * time.Millisecond},
	{name: "write-heavy", mix: writeHeavy, workers: 16, every: 50 * time.Millisecond},
	{name: "refresh-storm", mix: refreshing, workers: 16, every: 50 * time.Millisecond},
	{name: "mass-expiry", mix: expiring, workers: 12, together: true, every: 50 * time.Millisecond},
	{name: "resize", mix: writeHeavy, workers: 12, every: 5 * time.Millisecond, disturb: func(s *soak, h *hand) { s.any(h).resize(h) }},
	{name: "clear", mix: everything, workers: 12, every: 40 * time.Millisecond, disturb: func(s *soak, h *hand) { s.any(h).clear() }},
	{name: "scan", mix: writeHeavy, workers: 12, every: 5 * time.Millisecond, disturb: func(s *soak, h *hand) { s.any(h).scan(h.rng.IntN(8) > 0) }},
	{name: "stampede", mix: loading, workers: 64, every: 50 * time.Millisecond},
	{name: "pauses", mix: everything, workers: 12, pauses: true, every: 50 * time.Millisecond},
	{name: "short-lived", mix: everything, workers: 6, every: 50 * time.Millisecond, short: true},
	{name: "everything", mix: everything, workers: 32, every: 20 * time.Millisecond, short: true, disturb: disturbAny},
}

func disturbAny(s *soak, h *hand) {
	x := s.any(h)
	switch h.rng.IntN(8) {
	case 0:
		x.clear()
	case 1, 2:
		x.scan(h.rng.IntN(2) > 0)
	case 3, 4:
		x.resize(h)
	default:
		x.measure()
	}
}
