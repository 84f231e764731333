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
)

// schemaVersion changes when a field of the JSON is renamed, removed or changed
// in meaning. The fields are documented in doc.go and docs/stats.schema.json, which
// must change with them.
const schemaVersion = 1

// A jsonHead is the part before the arrays of caches and wheels.
type jsonHead struct {
	Version  int       `json:"version"`
	Time     time.Time `json:"time"`
	Interval float64   `json:"interval_seconds"`
	Program  string    `json:"program"`
	Host     string    `json:"host"`
	Purge    bool      `json:"purge"`
}

// executable and host identify the process. They are empty if the system does not know
// them.
var (
	executable, _ = os.Executable()
	host, _       = os.Hostname()
)

type jsonCache struct {
	Name          string           `json:"name"`
	Since         time.Time        `json:"since"`
	Hits          uint64           `json:"hits"`
	Misses        uint64           `json:"misses"`
	HitRatio      float64          `json:"hit_ratio"`
	MissesAbsent  uint64           `json:"misses_absent"`
	MissesExpired uint64           `json:"misses_expired"`
	MissesEvicted uint64           `json:"misses_evicted"`
	HitsInGrace   uint64           `json:"hits_in_grace"`
	Sets          uint64           `json:"sets"`
	Restored      uint64           `json:"restored"`
	Entries       int              `json:"entries"`
	Negatives     int              `json:"negatives"`
	Limit         int              `json:"limit"`
	Weight        uint64           `json:"weight"`
	MaxWeight     uint64           `json:"max_weight"`
	Removals      jsonRemovals     `json:"removals"`
	Loads         jsonLoads        `json:"loads"`
	Callbacks     jsonCallbacks    `json:"callbacks"`
	Expiry        jsonExpiry       `json:"expiry"`
	Windows       jsonWindows      `json:"windows"`
	EvictedAge    *jsonAges        `json:"evicted_age"`
	WhatIf        *jsonWhatIf      `json:"what_if"`
	Near          *jsonNear        `json:"near"`
	HotKeys       []jsonHotKey     `json:"hot_keys"`
	HottestShare  float64          `json:"hottest_key_share"`
	Settings      jsonSettings     `json:"settings"`
	LastLoadError *jsonLoadError   `json:"last_load_error"`
	Purgeable     bool             `json:"purgeable"`
	Prefixes      bool             `json:"purgeable_by_prefix"`
	Findings      []finding        `json:"findings"`
	History       []jsonCachePoint `json:"history,omitzero"`
}

type jsonRemovals struct {
	Expired  uint64 `json:"expired"`
	Evicted  uint64 `json:"evicted"`
	Deleted  uint64 `json:"deleted"`
	Replaced uint64 `json:"replaced"`
	Cleared  uint64 `json:"cleared"`
}

type jsonLoads struct {
	OK          uint64        `json:"ok"`
	Failed      uint64        `json:"failed"`
	Waiters     uint64        `json:"waiters"`
	Running     int           `json:"running"`
	Oldest      float64       `json:"oldest_seconds"`
	Queued      int           `json:"queued"`
	Abandoned   uint64        `json:"abandoned"`
	Refreshes   jsonRefreshes `json:"refreshes"`
	MeanSeconds float64       `json:"mean_seconds"`
	P50Seconds  float64       `json:"p50_seconds"`
	P99Seconds  float64       `json:"p99_seconds"`
}

type jsonRefreshes struct {
	OK      uint64 `json:"ok"`
	Failed  uint64 `json:"failed"`
	Dropped uint64 `json:"dropped"`
	Skipped uint64 `json:"skipped"`
}

type jsonCallbacks struct {
	Queued  int     `json:"queued"`
	Running int     `json:"running"`
	Oldest  float64 `json:"oldest_seconds"`
	Panics  uint64  `json:"panics"`
}

type jsonExpiry struct {
	Pending            int     `json:"pending"`
	Overdue            int     `json:"overdue"`
	Tombstones         int     `json:"tombstones"`
	LatenessP50Seconds float64 `json:"lateness_p50_seconds"`
	LatenessP99Seconds float64 `json:"lateness_p99_seconds"`
}

type jsonAges struct {
	Count      uint64  `json:"count"`
	P50Seconds float64 `json:"p50_seconds"`
	P99Seconds float64 `json:"p99_seconds"`
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

type jsonWheel struct {
	Name               string           `json:"name"`
	Pending            int              `json:"pending"`
	Backlog            int              `json:"backlog"`
	Running            int              `json:"running"`
	Tombstones         int              `json:"tombstones"`
	Started            uint64           `json:"started"`
	Removed            uint64           `json:"removed"`
	Fired              uint64           `json:"fired"`
	Panics             uint64           `json:"panics"`
	LatenessP50Seconds float64          `json:"lateness_p50_seconds"`
	LatenessP99Seconds float64          `json:"lateness_p99_seconds"`
	History            []jsonWheelPoint `json:"history,omitzero"`
}

// writeJSON writes the statistics of caches and wheels as of now, one after another, so
// that it holds one snapshot at a time.
func (r *registries) writeJSON(to io.Writer, f form) error {
	head, err := json.Marshal(jsonHead{
		Version:  schemaVersion,
		Time:     time.Now().UTC(),
		Interval: interval.Seconds(),
		Program:  filepath.Base(executable),
		Host:     host,
		Purge:    f.purge,
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
	err = cmp.Or(err, writeArray(to, &r.caches, caches, func(l *look[Snapshot]) any { return newJSONCache(l, points) }))
	write(`],"wheels":[`)
	err = cmp.Or(err, writeArray(to, &r.wheels, wheels, func(l *look[WheelSnapshot]) any { return newJSONWheel(l, points) }))
	write("]}\n")
	return err
}

// writeArray writes the element of each source that is still there, separated by commas.
func writeArray[S any](to io.Writer, r *registry[S], sources []*registration[S], element func(*look[S]) any) error {
	encoder := json.NewEncoder(to)
	comma := ""
	for _, source := range sources {
		l, ok := r.look(source, time.Now())
		if !ok {
			continue
		}
		if _, err := io.WriteString(to, comma); err != nil {
			return err
		}
		if err := encoder.Encode(element(&l)); err != nil {
			return err
		}
		comma = ","
	}
	return nil
}

func newJSONCache(l *look[Snapshot], points int) jsonCache {
	s := &l.stats
	c := jsonCache{
		Name:          l.name,
		Since:         l.since.UTC(),
		Hits:          s.Hits,
		Misses:        s.Misses,
		HitRatio:      s.HitRatio(),
		MissesAbsent:  s.MissesAbsent(),
		MissesExpired: s.MissesExpired,
		MissesEvicted: s.MissesEvicted,
		HitsInGrace:   s.HitsInGrace,
		Sets:          s.Sets,
		Restored:      s.Restored,
		Entries:       s.Entries,
		Negatives:     s.Negatives,
		Limit:         s.Limit,
		Weight:        s.Weight,
		MaxWeight:     s.MaxWeight,
		Removals:      jsonRemovals(s.Removals),
		Loads:         newJSONLoads(&s.Loads),
		Callbacks:     newJSONCallbacks(&s.Callbacks),
		Expiry:        newJSONExpiry(&s.Expiry),
		Windows:       newJSONWindows(l),
		EvictedAge:    newJSONAges(s.EvictedAge),
		WhatIf:        newJSONWhatIf(underLimit(l, 5*time.Minute)),
		Near:          newJSONNear(s.Near),
		HotKeys:       newJSONHotKeys(l.cache),
		HottestShare:  s.HottestShare,
		Settings:      newJSONSettings(l.cache.Settings),
		LastLoadError: newJSONLoadError(l.cache),
		Purgeable:     l.cache.Purge != nil,
		Prefixes:      l.cache.PurgePrefix != nil,
		Findings:      findings(l),
	}
	if points >= 0 {
		c.History = newJSONCachePoints(l, points)
	}
	return c
}

func newJSONLoads(l *Loads) jsonLoads {
	all := l.all()
	return jsonLoads{
		OK:          l.OK.Count(),
		Failed:      l.Failed.Count(),
		Waiters:     l.Waiters,
		Running:     l.Running,
		Oldest:      l.Oldest.Seconds(),
		Queued:      l.Queued,
		Abandoned:   l.Abandoned,
		Refreshes:   jsonRefreshes(l.Refreshes),
		MeanSeconds: all.Mean().Seconds(),
		P50Seconds:  p50(all),
		P99Seconds:  p99(all),
	}
}

func newJSONCallbacks(c *Callbacks) jsonCallbacks {
	return jsonCallbacks{
		Queued:  c.Queued,
		Running: c.Running,
		Oldest:  c.Oldest.Seconds(),
		Panics:  c.Panics,
	}
}

func newJSONExpiry(e *Expiry) jsonExpiry {
	return jsonExpiry{
		Pending:            e.Pending,
		Overdue:            e.Overdue,
		Tombstones:         e.Tombstones,
		LatenessP50Seconds: p50(e.Lateness),
		LatenessP99Seconds: p99(e.Lateness),
	}
}

// newJSONAges returns nil if the cache does not track ages, or has evicted nothing.
func newJSONAges(a Ages) *jsonAges {
	if a.Count() == 0 {
		return nil
	}
	return &jsonAges{a.Count(), p50(a), p99(a)}
}

// newJSONWhatIf returns nil if there is no estimate.
func newJSONWhatIf(s Snapshot) *jsonWhatIf {
	half, ok := s.WhatIfHalf()
	double, _ := s.WhatIfDouble()
	other, _ := s.WhatIfOtherPolicy()
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
func newJSONHotKeys(c CacheSource) []jsonHotKey {
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

func newJSONWheel(l *look[WheelSnapshot], points int) jsonWheel {
	w := &l.stats
	j := jsonWheel{
		Name:               l.name,
		Pending:            w.Pending,
		Backlog:            w.Backlog,
		Running:            w.Running,
		Tombstones:         w.Tombstones,
		Started:            w.Started,
		Removed:            w.Removed,
		Fired:              w.Fired,
		Panics:             w.Panics,
		LatenessP50Seconds: p50(w.Lateness),
		LatenessP99Seconds: p99(w.Lateness),
	}
	if points >= 0 {
		j.History = newJSONWheelPoints(l, points)
	}
	return j
}

// times is a [Histogram] or [Ages]. It is a type parameter, as a value of an interface would
// be allocated.
type times interface {
	Histogram | Ages
	Quantile(float64) time.Duration
}

func p50[H times](h H) float64 { return h.Quantile(0.50).Seconds() }

func p99[H times](h H) float64 { return h.Quantile(0.99).Seconds() }
