package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// A parser turns the fields of lines into accesses.
type parser struct {
	layout     layout
	expire     time.Duration // for an access without a TTL
	timeLayout string        // of the last time
	origin     time.Time     // the first time
	latest     time.Duration // the latest time, since origin
}

func (p *parser) access(n int, line []byte) (a access, isHeader bool, err error) {
	found, isHeader, err := p.layout.find(n, line)
	if err != nil || isHeader {
		return a, isHeader, err
	}
	if len(found[keyField]) == 0 {
		return a, false, fmt.Errorf("the key is empty")
	}
	a = access{key: hashOf(found[keyField]), ttl: p.expire}
	if text := found[timeField]; text != nil {
		at, err := p.parseTime(string(text))
		if err != nil {
			return a, false, err
		}
		if p.origin.IsZero() {
			p.origin = at
		}
		p.latest = max(p.latest, at.Sub(p.origin)) // logs of several processes go back a little
	}
	a.at = p.latest
	if text := found[sizeField]; text != nil && string(text) != "-" {
		size, err := strconv.ParseFloat(string(text), 64)
		if err != nil || !(size >= 0) {
			return a, false, fmt.Errorf("the size is %q: want a number of bytes", text)
		}
		a.size = uint32(min(size, math.MaxUint32))
	}
	if text := found[ttlField]; len(text) > 0 && string(text) != "-" {
		if a.ttl, err = parseTTL(string(text)); err != nil {
			return a, false, err
		}
	}
	return a, false, nil
}

func parseTTL(text string) (time.Duration, error) {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds >= 0 && seconds < math.MaxInt64/1e9 {
		return time.Duration(seconds * 1e9), nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf(`the TTL is %q: want seconds, or a duration as in "10m"`, text)
	}
	return d, nil
}

// timeLayouts are the layouts of times in logs that are no numbers.
var timeLayouts = []string{
	time.RFC3339Nano,
	"02/Jan/2006:15:04:05 -0700", // nginx and Apache
	"2006-01-02 15:04:05.999999999",
	"2006-01-02 15:04:05.999999999 -0700 MST",
	"2006-01-02T15:04:05.999999999",
	"2006/01/02 15:04:05",
	time.RFC1123Z,
	time.StampMicro,
}

func (p *parser) parseTime(text string) (time.Time, error) {
	text = strings.Trim(text, "[] ")
	if n, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(n) && math.Abs(n) < 1e19 {
		return unixTime(n), nil
	}
	if t, err := time.Parse(p.timeLayout, text); err == nil && p.timeLayout != "" {
		return t, nil
	}
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			p.timeLayout = layout
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("the time is %q: want Unix seconds, or as in %s or %s", text, timeLayouts[0], timeLayouts[1])
}

// unixTime reads a number as seconds, milli-, micro- or nanoseconds since 1970: the unit
// whose time is not thousands of years away.
func unixTime(n float64) time.Time {
	for _, unit := range []float64{1, 1e3, 1e6} {
		if math.Abs(n) < 1e11*unit {
			return time.Unix(0, int64(n*(1e9/unit)))
		}
	}
	return time.Unix(0, int64(n))
}

// hashOf hashes a key by FNV-1a and mixes the result as MurmurHash3 does, since the upper
// bits choose the sample. It has no seed, so the same input gives the same sample.
func hashOf(key []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range key {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return spread(h)
}

// spread is the end of MurmurHash3. It has no collisions.
func spread(h uint64) uint64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
