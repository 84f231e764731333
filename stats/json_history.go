package stats

import "time"

// jsonWindows is what happened lately.
type jsonWindows struct {
	OneMinute   jsonWindow `json:"1m"`
	FiveMinutes jsonWindow `json:"5m"`
}

// A jsonWindow is what happened in a time that ends now.
type jsonWindow struct {
	Seconds        float64 `json:"seconds"`
	Gets           uint64  `json:"gets"`
	Hits           uint64  `json:"hits"`
	Misses         uint64  `json:"misses"`
	MissesAbsent   uint64  `json:"misses_absent"`
	MissesExpired  uint64  `json:"misses_expired"`
	MissesEvicted  uint64  `json:"misses_evicted"`
	HitRatio       float64 `json:"hit_ratio"`
	GetsPerSecond  float64 `json:"gets_per_second"`
	Sets           uint64  `json:"sets"`
	Evicted        uint64  `json:"evicted"`
	Expired        uint64  `json:"expired"`
	Loads          uint64  `json:"loads"`
	LoadsFailed    uint64  `json:"loads_failed"`
	LoadsAbandoned uint64  `json:"loads_abandoned"`
	LoadP50Seconds float64 `json:"load_p50_seconds"`
	LoadP99Seconds float64 `json:"load_p99_seconds"`

	EvictedAgeP50Seconds float64 `json:"evicted_age_p50_seconds"`
	EvictedAgeP99Seconds float64 `json:"evicted_age_p99_seconds"`
}

func newJSONWindows(l *look[Snapshot]) jsonWindows {
	return jsonWindows{
		OneMinute:   newJSONWindow(l.window(time.Minute)),
		FiveMinutes: newJSONWindow(l.window(5 * time.Minute)),
	}
}

func newJSONWindow(p point[Snapshot]) jsonWindow {
	s := p.to.Minus(p.from)
	loads := s.Loads.all()
	w := jsonWindow{
		Seconds:        p.length.Seconds(),
		Gets:           s.Gets(),
		Hits:           s.Hits,
		Misses:         s.Misses,
		MissesAbsent:   s.MissesAbsent(),
		MissesExpired:  s.MissesExpired,
		MissesEvicted:  s.MissesEvicted,
		HitRatio:       s.HitRatio(),
		Sets:           s.Sets,
		Evicted:        s.Removals.Evicted,
		Expired:        s.Removals.Expired,
		Loads:          loads.Count(),
		LoadsFailed:    s.Loads.Failed.Count(),
		LoadsAbandoned: s.Loads.Abandoned,
		LoadP50Seconds: p50(loads),
		LoadP99Seconds: p99(loads),

		EvictedAgeP50Seconds: p50(s.EvictedAge),
		EvictedAgeP99Seconds: p99(s.EvictedAge),
	}
	if p.length > 0 {
		w.GetsPerSecond = float64(w.Gets) / w.Seconds
	}
	return w
}

// A jsonPoint is the time of a point.
type jsonPoint struct {
	Start   string  `json:"start"` // also tells the point from others
	Seconds float64 `json:"seconds"`
	Partial bool    `json:"partial"`
}

func newJSONPoint(start time.Time, length time.Duration, running bool) jsonPoint {
	return jsonPoint{start.UTC().Format("2006-01-02T15:04:05.000Z07:00"), length.Seconds(), running}
}

// A jsonCachePoint has counters of its time, and gauges at its end.
type jsonCachePoint struct {
	jsonPoint
	Hits                 uint64  `json:"hits"`
	MissesAbsent         uint64  `json:"misses_absent"`
	MissesExpired        uint64  `json:"misses_expired"`
	MissesEvicted        uint64  `json:"misses_evicted"`
	HitsInGrace          uint64  `json:"hits_in_grace"`
	Sets                 uint64  `json:"sets"`
	Entries              int     `json:"entries"`
	Limit                int     `json:"limit"`
	Weight               uint64  `json:"weight"`
	MaxWeight            uint64  `json:"max_weight"`
	Expired              uint64  `json:"expired"`
	Evicted              uint64  `json:"evicted"`
	Deleted              uint64  `json:"deleted"`
	Replaced             uint64  `json:"replaced"`
	Cleared              uint64  `json:"cleared"`
	Loads                uint64  `json:"loads"`
	LoadsFailed          uint64  `json:"loads_failed"`
	LoadWaiters          uint64  `json:"load_waiters"`
	LoadsRunning         int     `json:"loads_running"`
	LoadsQueued          int     `json:"loads_queued"`
	LoadsAbandoned       uint64  `json:"loads_abandoned"`
	Refreshes            uint64  `json:"refreshes"`
	RefreshesFailed      uint64  `json:"refreshes_failed"`
	RefreshesSkipped     uint64  `json:"refreshes_skipped"`
	LoadP50Seconds       float64 `json:"load_p50_seconds"`
	LoadP99Seconds       float64 `json:"load_p99_seconds"`
	EvictedAgeP50Seconds float64 `json:"evicted_age_p50_seconds"`
	EvictedAgeP99Seconds float64 `json:"evicted_age_p99_seconds"`
	CallbacksQueued      int     `json:"callbacks_queued"`
	CallbacksRunning     int     `json:"callbacks_running"`
	CallbackPanics       uint64  `json:"callback_panics"`
	ExpiryPending        int     `json:"expiry_pending"`
	ExpiryOverdue        int     `json:"expiry_overdue"`
	Tombstones           int     `json:"tombstones"`
	LatenessP50Seconds   float64 `json:"lateness_p50_seconds"`
	LatenessP99Seconds   float64 `json:"lateness_p99_seconds"`

	Near *jsonNear `json:"near"`
}

func newJSONCachePoints(l *look[Snapshot], n int) []jsonCachePoint {
	all := make([]jsonCachePoint, 0, min(n, len(l.samples))) // never nil
	for p := range l.points(n) {
		s := p.to.Minus(p.from)
		loads := s.Loads.all()
		all = append(all, jsonCachePoint{
			jsonPoint:            newJSONPoint(p.start, p.length, p.running),
			Hits:                 s.Hits,
			MissesAbsent:         s.MissesAbsent(),
			MissesExpired:        s.MissesExpired,
			MissesEvicted:        s.MissesEvicted,
			HitsInGrace:          s.HitsInGrace,
			Sets:                 s.Sets,
			Entries:              s.Entries,
			Limit:                s.Limit,
			Weight:               s.Weight,
			MaxWeight:            s.MaxWeight,
			Expired:              s.Removals.Expired,
			Evicted:              s.Removals.Evicted,
			Deleted:              s.Removals.Deleted,
			Replaced:             s.Removals.Replaced,
			Cleared:              s.Removals.Cleared,
			Loads:                loads.Count(),
			LoadsFailed:          s.Loads.Failed.Count(),
			LoadWaiters:          s.Loads.Waiters,
			LoadsRunning:         s.Loads.Running,
			LoadsQueued:          s.Loads.Queued,
			LoadsAbandoned:       s.Loads.Abandoned,
			Refreshes:            s.Loads.Refreshes.OK,
			RefreshesFailed:      s.Loads.Refreshes.Failed,
			RefreshesSkipped:     s.Loads.Refreshes.Skipped,
			LoadP50Seconds:       p50(loads),
			LoadP99Seconds:       p99(loads),
			EvictedAgeP50Seconds: p50(s.EvictedAge),
			EvictedAgeP99Seconds: p99(s.EvictedAge),
			CallbacksQueued:      s.Callbacks.Queued,
			CallbacksRunning:     s.Callbacks.Running,
			CallbackPanics:       s.Callbacks.Panics,
			ExpiryPending:        s.Expiry.Pending,
			ExpiryOverdue:        s.Expiry.Overdue,
			Tombstones:           s.Expiry.Tombstones,
			LatenessP50Seconds:   p50(s.Expiry.Lateness),
			LatenessP99Seconds:   p99(s.Expiry.Lateness),
			Near:                 newJSONNear(s.Near),
		})
	}
	return all
}

// A jsonWheelPoint is to a wheel what a jsonCachePoint is to a cache.
type jsonWheelPoint struct {
	jsonPoint
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

func newJSONWheelPoints(l *look[WheelSnapshot], n int) []jsonWheelPoint {
	all := make([]jsonWheelPoint, 0, min(n, len(l.samples))) // never nil
	for p := range l.points(n) {
		w := p.to.Minus(p.from)
		all = append(all, jsonWheelPoint{
			jsonPoint:          newJSONPoint(p.start, p.length, p.running),
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
		})
	}
	return all
}
