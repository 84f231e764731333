package main

import (
	"math"
	"slices"
	"time"
)

// A summary describes a trace, without a cache.
type summary struct {
	Gets    uint64  `json:"gets"`
	Keys    uint64  `json:"keys"`
	Once    uint64  `json:"keys_once"`    // read only once
	Half    uint64  `json:"keys_of_half"` // the hottest keys, which get half of the gets
	Most    uint64  `json:"keys_of_nine_tenths"`
	Working uint64  `json:"working_set"`       // most keys at a time between their first and last get
	Seconds float64 `json:"seconds,omitempty"` // from the first access to the last, if times are known
	Bytes   uint64  `json:"bytes,omitempty"`   // of all keys together, by the latest size of each

	// SampleRate is the share of the keys that was kept; 1 means all.
	SampleRate float64 `json:"sample_rate"`
	SampleKeys uint64  `json:"sample_keys"`
}

func summarize(t *trace) summary {
	gets := make([]uint32, len(t.hashes))
	last := make([]uint32, len(t.hashes))
	sizes := make([]uint32, len(t.hashes))
	for i, id := range t.ids {
		if at(t.ops, i).get() {
			gets[id]++
			last[id] = uint32(i)
		}
		if at(t.ops, i) != opClear {
			sizes[id] = max(at(t.sizes, i), sizes[id])
		}
	}
	s := summary{Gets: t.total, SampleRate: t.rate(), SampleKeys: uint64(len(t.hashes))}
	whole := func(n uint64) uint64 { return uint64(math.Round(float64(n) / t.rate())) }
	s.Keys = whole(uint64(len(t.hashes)))
	s.Working = whole(workingSet(t, last))
	once := uint64(0)
	bytes := uint64(0)
	for id, n := range gets {
		if n == 1 {
			once++
		}
		bytes += uint64(sizes[id])
	}
	s.Once, s.Bytes = whole(once), whole(bytes)
	slices.Sort(gets)
	s.Half, s.Most = whole(hottest(gets, 0.5*float64(t.kept))), whole(hottest(gets, 0.9*float64(t.kept)))
	if t.at != nil {
		s.Seconds = (t.at[len(t.at)-1] - t.at[0]).Seconds()
	}
	return s
}

// meanSize returns the bytes of a key, on average.
func (s summary) meanSize() float64 { return float64(s.Bytes) / float64(max(s.Keys, 1)) }

func (s summary) duration() time.Duration { return time.Duration(s.Seconds * 1e9) }

// workingSet returns the greatest number of keys that are between their first get and
// their last at the same time: what MIN needs for every possible hit.
func workingSet(t *trace, last []uint32) (most uint64) {
	now := uint64(0)
	seen := make([]bool, len(t.hashes))
	for i, id := range t.ids {
		if !at(t.ops, i).get() {
			continue
		}
		if !seen[id] && last[id] != uint32(i) {
			now++
			most = max(most, now)
		}
		if seen[id] && last[id] == uint32(i) {
			now--
		}
		seen[id] = true
	}
	return most
}

// hottest returns the number of the hottest keys that have so many gets. sorted has the gets of each
// key.
func hottest(sorted []uint32, left float64) (keys uint64) {
	for _, n := range slices.Backward(sorted) {
		if left <= 0 {
			break
		}
		left -= float64(n)
		keys++
	}
	return keys
}
