package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A limit is a limit to try: in entries, as a share of the keys, or in bytes.
type limit struct {
	part    float64 // of the keys; 0 if n is given
	n       uint64
	inBytes bool
}

func (l limit) bytes() bool { return l.inBytes }

// unit returns that of a run: "bytes", or "" for entries.
func (l limit) unit() string {
	if l.inBytes {
		return "bytes"
	}
	return ""
}

// parseLimits reads limits as in "1%,5%,1000,64MB".
func parseLimits(text string) ([]limit, error) {
	var limits []limit
	for _, word := range strings.Split(text, ",") {
		l, err := parseLimit(strings.TrimSpace(word))
		if err != nil {
			return nil, err
		}
		limits = append(limits, l)
	}
	return limits, nil
}

// byteUnits are the units of limits in bytes.
var byteUnits = []struct {
	name string
	size float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
}

func parseLimit(word string) (limit, error) {
	wrong := fmt.Errorf(`-limits has %q: want entries as in 1000, a part of the keys as in 5%%, or bytes as in 64MB`, word)
	if text, ok := strings.CutSuffix(word, "%"); ok {
		percent, err := strconv.ParseFloat(text, 64)
		if err != nil || !(percent > 0 && percent <= 100) {
			return limit{}, wrong
		}
		return limit{part: percent / 100}, nil
	}
	for _, unit := range byteUnits {
		if text, ok := strings.CutSuffix(word, unit.name); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			if bytes := n * unit.size; err == nil && bytes >= 1 && bytes < 1<<62 {
				return limit{n: uint64(bytes), inBytes: true}, nil
			}
			return limit{}, wrong
		}
	}
	n, err := strconv.ParseUint(strings.ReplaceAll(word, "_", ""), 10, 31)
	if err != nil || n == 0 {
		return limit{}, wrong
	}
	return limit{n: n}, nil
}

// resolved returns the limits as numbers, for a number of keys, sorted and without
// duplicates.
func resolved(limits []limit, keys uint64) []limit {
	var all []limit
	for _, l := range limits {
		if l.part > 0 {
			// A share such as 29 % is a little less in binary.
			l = limit{n: max(1, uint64(math.Floor(l.part*float64(keys)+1e-6)))}
		}
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b limit) int {
		return cmp.Or(cmp.Compare(a.unit(), b.unit()), cmp.Compare(a.n, b.n)) // entries first
	})
	return slices.Compact(all)
}

// gridStep is the ratio of adjacent limits of the grid, which is tried by default.
const gridStep = 1.5

// grid returns limits from a two-thousandth of the keys, or of their bytes, to all. In a sample
// the least, scaled to a part of it, still has a few entries.
func (l *lab) grid(in summary, inBytes bool) (limits []limit) {
	all, least := in.Keys, uint64(1)
	if l.trace.sampled() {
		least = uint64(256 / l.trace.rate())
	}
	if inBytes {
		all, least = in.Bytes, uint64(float64(least)*in.meanSize())
	}
	least = max(least, all/2000, 1)
	for n := float64(all); n >= float64(least); n /= gridStep {
		limits = append(limits, limit{n: min(roundUp(n), all), inBytes: inBytes})
	}
	if limits == nil {
		limits = []limit{{n: max(all, 1), inBytes: inBytes}}
	}
	return resolved(limits, in.Keys)
}

// roundUp returns the next number with two significant digits.
func roundUp(n float64) uint64 {
	unit := math.Pow(10, max(0, math.Floor(math.Log10(n))-1))
	return uint64(math.Ceil(n/unit-1e-9) * unit)
}
