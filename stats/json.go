package stats

import (
	"cmp"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/histogram"
	"github.com/pinwheel-cache/pinwheel/internal/sources"
)

// schemaVersion changes when a field of the JSON is renamed, removed or changed
// in meaning. The fields are documented in doc.go and docs/stats.schema.json, which
// must change with them.
const schemaVersion = 1

// executable and host identify the process. They are empty if the system does not know
// them.
var (
	executable, _ = os.Executable()
	host, _       = os.Hostname()
)

// A jsonCache is what stats.json has of a cache beside its numbers, its windows and its
// history.
type jsonCache struct {
	Name          string       `json:"name"`
	Since         time.Time    `json:"since"`
	WhatIf        *jsonWhatIf  `json:"what_if"`
	HotKeys       []jsonHotKey `json:"hot_keys"`
	FailingKeys   []jsonBadKey `json:"failing_keys"`
	SlowKeys      []jsonBadKey `json:"slow_keys"`
	Settings      jsonSettings `json:"settings"`
	LastLoadError *jsonFailure `json:"last_load_error"`
	StoreFailed   *jsonFailure `json:"last_store_error"`
	SourceLost    *jsonFailure `json:"last_source_error"`
	Purgeable     bool         `json:"purgeable"`
	Prefixes      bool         `json:"purgeable_by_prefix"`
	Fleet         bool         `json:"purgeable_in_fleet"`
	Findings      []finding    `json:"findings"`
}

type jsonWhatIf struct {
	Half   jsonEstimate `json:"half"`
	Same   jsonEstimate `json:"same"`
	Double jsonEstimate `json:"double"`

	OtherPolicy jsonEstimate `json:"other_policy"`
}

type jsonEstimate struct {
	Limit    int     `json:"limit"`
	HitRatio float64 `json:"hit_ratio"`
}

type jsonHotKey struct {
	Key   string  `json:"key"`
	Share float64 `json:"share"`
}

// writeJSON writes the statistics of caches and wheels as of now, one after another, so
// that it holds one snapshot at a time.
func (r *registries) writeJSON(to io.Writer, f form) error {
	head, err := json.Marshal(map[string]any{ // the part before the arrays of caches and wheels
		"version": schemaVersion, "time": time.Now().UTC(), "interval_seconds": interval.Seconds(),
		"program": filepath.Base(executable), "host": host, "purge": f.purge, "peers": f.peers,
		"process": r.examine(time.Now(), false),
	})
	if err != nil {
		return err
	}
	caches, wheels := r.caches.registered(f.hasCache), r.wheels.registered(f.hasWheel)
	points := f.pointsOfEach(len(caches) + len(wheels))
	write := func(text string) {
		if err == nil {
			_, err = io.WriteString(to, text)
		}
	}
	write(strings.TrimSuffix(string(head), "}"))
	write(`,"caches":[`)
	err = cmp.Or(err, writeArray(to, &r.caches, caches, func(e *element[Snapshot], l *look[Snapshot]) error { return makeCache(e, l, points, f.errors) }))
	write(`],"wheels":[`)
	err = cmp.Or(err, writeArray(to, &r.wheels, wheels, func(e *element[WheelSnapshot], l *look[WheelSnapshot]) error { return makeWheel(e, l, points) }))
	write("]}\n")
	return err
}

// writeArray writes the element of each source that is still there, separated by commas.
func writeArray[S any](to io.Writer, r *registry[S], sources []*registration[S], make func(*element[S], *look[S]) error) error {
	var e element[S]
	comma := ""
	for _, reg := range sources {
		l, ok := r.look(reg, time.Now())
		if !ok {
			continue
		}
		l.found = r.judge(&l, false)
		e.buf = append(e.buf[:0], comma...)
		if err := make(&e, &l); err != nil {
			return err
		}
		if _, err := to.Write(e.buf); err != nil {
			return err
		}
		comma = ","
	}
	return nil
}

// newJSONWhatIf returns nil if there is no estimate.
func newJSONWhatIf(s *Snapshot) *jsonWhatIf {
	half, ok := s.WhatIfHitRatio(s.WhatIf.Half)
	double, _ := s.WhatIfHitRatio(s.WhatIf.Double)
	other, _ := s.WhatIfHitRatio(s.WhatIf.OtherPolicy)
	if !ok || s.Limit == 0 { // it had one, and Resize took it
		return nil
	}
	return &jsonWhatIf{
		Half:   jsonEstimate{s.Limit / 2, half},
		Same:   jsonEstimate{s.Limit, s.HitRatio()},
		Double: jsonEstimate{min(s.Limit, math.MaxInt/2) * 2, double},

		OtherPolicy: jsonEstimate{s.Limit, other},
	}
}

// newJSONHotKeys returns nil if the cache does not track them.
func newJSONHotKeys(c sources.Cache[Snapshot]) []jsonHotKey {
	if c.HotKeys == nil {
		return nil
	}
	hottest := c.HotKeys()
	keys := make([]jsonHotKey, 0, len(hottest)) // never nil
	for _, k := range hottest {
		if !(k.Share >= 0 && k.Share <= 1) { // JSON has no NaN
			k.Share = 0
		}
		keys = append(keys, jsonHotKey{shorten(k.Key), k.Share})
	}
	return keys
}

func p50(h histogram.Histogram) float64 { return h.Quantile(0.50).Seconds() }

func p99(h histogram.Histogram) float64 { return h.Quantile(0.99).Seconds() }
