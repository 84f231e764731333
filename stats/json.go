package stats

import (
	"encoding/json"
	"io"
	"time"
)

// schemaVersion changes when a field of the JSON is renamed, removed or changed
// in meaning. The fields are documented in doc.go, which must change with them.
const schemaVersion = 1

type jsonStats struct {
	Version int         `json:"version"`
	Time    time.Time   `json:"time"`
	Caches  []jsonCache `json:"caches"`
	Wheels  []jsonWheel `json:"wheels"`
}

type jsonCache struct {
	Name          string        `json:"name"`
	Hits          uint64        `json:"hits"`
	Misses        uint64        `json:"misses"`
	HitRatio      float64       `json:"hit_ratio"`
	MissesExpired uint64        `json:"misses_expired"`
	Sets          uint64        `json:"sets"`
	Entries       int           `json:"entries"`
	Limit         int           `json:"limit"`
	Weight        uint64        `json:"weight"`
	MaxWeight     uint64        `json:"max_weight"`
	Removals      jsonRemovals  `json:"removals"`
	Loads         jsonLoads     `json:"loads"`
	Callbacks     jsonCallbacks `json:"callbacks"`
	Expiry        jsonExpiry    `json:"expiry"`
}

type jsonRemovals struct {
	Expired  uint64 `json:"expired"`
	Evicted  uint64 `json:"evicted"`
	Deleted  uint64 `json:"deleted"`
	Replaced uint64 `json:"replaced"`
	Cleared  uint64 `json:"cleared"`
}

type jsonLoads struct {
	OK          uint64  `json:"ok"`
	Failed      uint64  `json:"failed"`
	Waiters     uint64  `json:"waiters"`
	MeanSeconds float64 `json:"mean_seconds"`
	P50Seconds  float64 `json:"p50_seconds"`
	P99Seconds  float64 `json:"p99_seconds"`
}

type jsonCallbacks struct {
	Queued int    `json:"queued"`
	Panics uint64 `json:"panics"`
}

type jsonExpiry struct {
	Pending            int     `json:"pending"`
	Tombstones         int     `json:"tombstones"`
	LatenessP50Seconds float64 `json:"lateness_p50_seconds"`
	LatenessP99Seconds float64 `json:"lateness_p99_seconds"`
}

type jsonWheel struct {
	Name               string  `json:"name"`
	Pending            int     `json:"pending"`
	Backlog            int     `json:"backlog"`
	Running            int     `json:"running"`
	Tombstones         int     `json:"tombstones"`
	Started            uint64  `json:"started"`
	Removed            uint64  `json:"removed"`
	Fired              uint64  `json:"fired"`
	Panics             uint64  `json:"panics"`
	LatenessP50Seconds float64 `json:"lateness_p50_seconds"`
	LatenessP99Seconds float64 `json:"lateness_p99_seconds"`
}

// writeJSON writes the statistics of caches and wheels, taken at now.
func writeJSON(w io.Writer, caches []look[Snapshot], wheels []look[Wheel], now time.Time) error {
	all := jsonStats{
		Version: schemaVersion,
		Time:    now.UTC(),
		Caches:  make([]jsonCache, 0, len(caches)), // never nil, which would be null
		Wheels:  make([]jsonWheel, 0, len(wheels)),
	}
	for _, l := range caches {
		all.Caches = append(all.Caches, newJSONCache(l.name, l.stats))
	}
	for _, l := range wheels {
		all.Wheels = append(all.Wheels, newJSONWheel(l.name, l.stats))
	}
	return json.NewEncoder(w).Encode(all)
}

func newJSONCache(name string, s Snapshot) jsonCache {
	loads := s.Loads.all()
	return jsonCache{
		Name:          name,
		Hits:          s.Hits,
		Misses:        s.Misses,
		HitRatio:      s.HitRatio(),
		MissesExpired: s.MissesExpired,
		Sets:          s.Sets,
		Entries:       s.Entries,
		Limit:         s.Limit,
		Weight:        s.Weight,
		MaxWeight:     s.MaxWeight,
		Removals:      jsonRemovals(s.Removals),
		Loads: jsonLoads{
			OK:          s.Loads.OK.Count(),
			Failed:      s.Loads.Failed.Count(),
			Waiters:     s.Loads.Waiters,
			MeanSeconds: loads.Mean().Seconds(),
			P50Seconds:  loads.Quantile(0.50).Seconds(),
			P99Seconds:  loads.Quantile(0.99).Seconds(),
		},
		Callbacks: jsonCallbacks(s.Callbacks),
		Expiry: jsonExpiry{
			Pending:            s.Expiry.Pending,
			Tombstones:         s.Expiry.Tombstones,
			LatenessP50Seconds: s.Expiry.Lateness.Quantile(0.50).Seconds(),
			LatenessP99Seconds: s.Expiry.Lateness.Quantile(0.99).Seconds(),
		},
	}
}

func newJSONWheel(name string, w Wheel) jsonWheel {
	return jsonWheel{
		Name:               name,
		Pending:            w.Pending,
		Backlog:            w.Backlog,
		Running:            w.Running,
		Tombstones:         w.Tombstones,
		Started:            w.Started,
		Removed:            w.Removed,
		Fired:              w.Fired,
		Panics:             w.Panics,
		LatenessP50Seconds: w.Lateness.Quantile(0.50).Seconds(),
		LatenessP99Seconds: w.Lateness.Quantile(0.99).Seconds(),
	}
}
