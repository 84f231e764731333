package stats

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/internal/numbers"
	"github.com/pinwheel-cache/pinwheel/internal/sources"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// oddNames returns names that together have every byte, so also those that a format escapes,
// that are not UTF-8, or that end a label.
func oddNames() []string {
	names := []string{"users", `a",result="hit`, `a\",result=\"hit`, "\\n\\\"\\\\\n\""}
	for first := 0; first < 256; first += 8 {
		name := make([]byte, 8)
		for i := range name {
			name[i] = byte(first + i)
		}
		names = append(names, string(name))
	}
	return names
}

// parse reads an exposition with the parser of the Prometheus project.
func parse(t testing.TB, exposition string) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(exposition))
	if err != nil {
		t.Fatalf("the parser says %v about\n%s", err, exposition)
	}
	return families
}

// series returns every series whose label by, which is cache or wheel, is source. Its keys are
// "name label=value ... part".
func series(families map[string]*dto.MetricFamily, by, source string) map[string]float64 {
	all := map[string]float64{}
	for name, family := range families {
		for _, m := range family.Metric {
			id, own := name, false
			for _, label := range m.Label {
				if label.GetName() == by {
					own = label.GetValue() == source
				} else {
					id += " " + label.GetName() + "=" + label.GetValue()
				}
			}
			if !own {
				continue
			}
			switch family.GetType() {
			case dto.MetricType_COUNTER:
				all[id] = m.Counter.GetValue()
			case dto.MetricType_GAUGE:
				all[id] = m.Gauge.GetValue()
			case dto.MetricType_HISTOGRAM:
				all[id+" sum"] = m.Histogram.GetSampleSum()
				all[id+" count"] = float64(m.Histogram.GetSampleCount())
				for _, b := range m.Histogram.Bucket {
					all[fmt.Sprint(id, " le ", b.GetUpperBound())] = float64(b.GetCumulativeCount())
				}
			}
		}
	}
	return all
}

// addNear adds the series of a near cache.
func addNear(want map[string]float64, n stats.Near) {
	serving, partial := 0.0, 0.0
	if n.Serving {
		serving = 1
	}
	if n.Partial {
		partial = 1
	}
	for name, value := range map[string]float64{
		"remote_hits_total":   float64(n.RemoteHits),
		"fetches_total":       float64(n.Fetches),
		"bypasses_total":      float64(n.Bypasses),
		"waits_total":         float64(n.Waits),
		"overtaken_total":     float64(n.Overtaken),
		"unserved_total":      float64(n.Unserved),
		"served_on_total":     float64(n.ServedOn),
		"store_errors_total":  float64(n.StoreErrors),
		"undecodable_total":   float64(n.Undecodable),
		"unasked_total":       float64(n.Unasked),
		"changes_total":       float64(n.Changes),
		"forgotten_all_total": float64(n.ForgottenAll),
		"reconnects_total":    float64(n.Reconnects),
		"serving":             serving,
		"partial":             partial,
		"lag_seconds":         n.Lag.Seconds(),
		"behind_seconds":      n.Behind.Seconds(),
		"max_lag_seconds":     n.MaxLag.Seconds(),
	} {
		want["cache_near_"+name] = value
	}
}

// wantSeries returns exactly the series that the exposition must have for s.
func wantSeries(s stats.Snapshot, o sources.Operation) map[string]float64 {
	want := map[string]float64{
		"cache_loads_not_found_total":          float64(o.NotFound),
		"cache_keys_failing":                   float64(o.Failing),
		"cache_load_failures_in_row":           float64(o.InRow),
		"cache_waits_refused_total":            float64(o.Refused),
		"cache_callbacks_blocked":              float64(o.Blocked),
		"cache_tuned_total":                    float64(o.Tuned),
		"cache_gets_total result=hit":          float64(s.Hits),
		"cache_gets_total result=miss":         float64(s.Misses),
		"cache_misses_total reason=absent":     float64(s.Misses - s.MissesExpired - s.MissesEvicted),
		"cache_misses_total reason=evicted":    float64(s.MissesEvicted),
		"cache_misses_total reason=expired":    float64(s.MissesExpired),
		"cache_puts_total":                     float64(s.Sets),
		"cache_restores_total":                 float64(s.Restored),
		"cache_evictions_total cause=size":     float64(s.Removals.Evicted),
		"cache_evictions_total cause=expired":  float64(s.Removals.Expired),
		"cache_removals_total cause=explicit":  float64(s.Removals.Deleted),
		"cache_removals_total cause=replaced":  float64(s.Removals.Replaced),
		"cache_removals_total cause=cleared":   float64(s.Removals.Cleared),
		"cache_size":                           float64(s.Entries),
		"cache_load_waiters_total":             float64(s.Loads.Waiters),
		"cache_loads_running":                  float64(s.Loads.Running),
		"cache_oldest_load_seconds":            s.Loads.Oldest.Seconds(),
		"cache_loads_queued":                   float64(s.Loads.Queued),
		"cache_loads_abandoned_total":          float64(s.Loads.Abandoned),
		"cache_grace_hits_total":               float64(s.HitsInGrace),
		"cache_refreshes_total result=success": float64(s.Loads.Refreshes.OK),
		"cache_refreshes_total result=failure": float64(s.Loads.Refreshes.Failed),
		"cache_refreshes_total result=dropped": float64(s.Loads.Refreshes.Dropped),
		"cache_refreshes_total result=skipped": float64(s.Loads.Refreshes.Skipped),
		"cache_negatives":                      float64(s.Negatives),
		"cache_callbacks_running":              float64(s.Callbacks.Running),
		"cache_oldest_callback_seconds":        s.Callbacks.Oldest.Seconds(),
		"cache_expiry_overdue":                 float64(s.Expiry.Overdue),
		"cache_callbacks_queued":               float64(s.Callbacks.Queued),
		"cache_callback_panics_total":          float64(s.Callbacks.Panics),
		"cache_expiry_pending":                 float64(s.Expiry.Pending),
		"cache_expiry_tombstones":              float64(s.Expiry.Tombstones),
	}
	if s.HottestShare > 0 {
		want["cache_hottest_key_share"] = s.HottestShare
	}
	if s.Limit > 0 {
		want["cache_capacity"] = float64(s.Limit)
	}
	if s.MaxWeight > 0 {
		want["cache_weight"] = float64(s.Weight)
		want["cache_weight_capacity"] = float64(s.MaxWeight)
	}
	if s.WhatIf.Gets > 0 {
		want["cache_what_if_hits_total limit=half"] = float64(s.WhatIf.Half)
		want["cache_what_if_hits_total limit=same"] = float64(s.WhatIf.Same)
		want["cache_what_if_hits_total limit=double"] = float64(s.WhatIf.Double)
		want["cache_what_if_other_policy_hits_total"] = float64(s.WhatIf.OtherPolicy)
	}
	if s.Near.MaxLag > 0 {
		addNear(want, s.Near)
	}
	addHistogram(want, "cache_evicted_age_seconds", s.EvictedAge)
	addHistogram(want, "cache_loads_seconds result=success", s.Loads.OK)
	addHistogram(want, "cache_loads_seconds result=failure", s.Loads.Failed)
	addHistogram(want, "cache_loads_seconds result=timeout", s.Loads.TimedOut)
	addHistogram(want, "cache_expiry_lateness_seconds", s.Expiry.Lateness)
	addHistogram(want, "cache_load_permit_wait_seconds", stats.Histogram(o.Permits))
	addHistogram(want, "cache_wait_seconds", stats.Histogram(o.Waits))
	if a := s.Near.Audits; a.OneIn > 0 {
		addHistogram(want, "cache_near_audited_age_seconds", stats.Histogram(o.AuditedAge))
		for verdict, n := range map[string]uint64{"same": a.Same, "changed": a.Changed, "violation": a.Violations, "unknown": a.Unknown} {
			want["cache_near_audits_total verdict="+verdict] = float64(n)
		}
	}
	if s.Near.MaxLag > 0 {
		addHistogram(want, "cache_near_store_read_seconds", stats.Histogram(o.StoreReads))
		want["cache_near_undone"], want["cache_near_dels_lost_total"] = float64(o.Undone), float64(o.Lost)
	}
	return want
}

// wantWheelSeries is wantSeries for a wheel.
func wantWheelSeries(w stats.WheelSnapshot) map[string]float64 {
	want := map[string]float64{
		"timingwheel_pending":       float64(w.Pending),
		"timingwheel_backlog":       float64(w.Overdue),
		"timingwheel_running":       float64(w.Running),
		"timingwheel_tombstones":    float64(w.Tombstones),
		"timingwheel_started_total": float64(w.Started),
		"timingwheel_moved_total":   float64(w.Moved),
		"timingwheel_visits_total":  float64(w.Visits),
		"timingwheel_relinks_total": float64(w.Relinks),
		"timingwheel_refused_total": float64(w.Refused),
		"timingwheel_removed_total": float64(w.Removed),
		"timingwheel_fired_total":   float64(w.Fired),
		"timingwheel_panics_total":  float64(w.Panics),
	}
	addHistogram(want, "timingwheel_lateness_seconds", w.Lateness)
	return want
}

// addHistogram adds the series of h to want.
func addHistogram(want map[string]float64, id string, h stats.Histogram) {
	var below uint64
	for bound, n := range h.Buckets() {
		below += n
		le := bound.Seconds()
		if bound == math.MaxInt64 {
			le = math.Inf(1)
		}
		want[fmt.Sprint(id, " le ", le)] = float64(below)
	}
	if below == 0 { // an empty bucket is not written
		maps.DeleteFunc(want, func(series string, _ float64) bool { return strings.HasPrefix(series, id+" le ") })
		return
	}
	want[id+" sum"] = h.Sum().Seconds()
	want[id+" count"] = float64(below)
}

func checkSeries(t *testing.T, got, want map[string]float64) {
	t.Helper()
	all := maps.Clone(want)
	maps.Copy(all, got)
	for _, id := range slices.Sorted(maps.Keys(all)) {
		v, is := got[id]
		w, wanted := want[id]
		if v != w || is != wanted {
			t.Errorf("%s = %v (there: %t), want %v (%t)", id, v, is, w, wanted)
		}
	}
}

// checkCreated checks and removes the series that do not come from a Snapshot.
func checkCreated(t *testing.T, got map[string]float64) {
	t.Helper()
	const id = "cache_created_timestamp_seconds"
	if age := float64(time.Now().UnixMilli())/1000 - got[id]; age < 0 || age > 3600 {
		t.Errorf("%s is %v, %v seconds ago", id, got[id], age)
	}
	delete(got, id)
}

func TestMetricsShowEveryNumber(t *testing.T) {
	caches, wheels := map[string]stats.Snapshot{}, map[string]stats.WheelSnapshot{}
	operations := map[string]sources.Operation{}
	add := func(name string, s stats.Snapshot, w stats.WheelSnapshot) {
		o := numbers.Distinct[sources.Operation](uint64(len(caches)))
		unique := register(t, sources.Cache[stats.Snapshot]{Name: name, Snapshot: always(s), Operation: func() sources.Operation { return o }})
		caches[unique], operations[unique] = s, o
		wheels[registerWheel(t, name, always(w))] = w
	}
	add("unused", stats.Snapshot{}, stats.WheelSnapshot{})
	for i, name := range oddNames() {
		s := distinct(uint64(1000 * i))
		s.Near.Serving = i%2 == 0
		switch i % 3 { // a real cache has one limit or none
		case 0:
			s.Weight, s.MaxWeight = 0, 0
		case 1:
			s.Limit = 0
		case 2:
			s.Limit, s.Weight, s.MaxWeight = 0, 0, 0
		}
		add(name, s, distinctWheel(uint64(1000*i)))
	}
	families := parse(t, metrics(t))
	for name, s := range caches {
		t.Run("cache "+name, func(t *testing.T) {
			got := series(families, "cache", name)
			checkCreated(t, got)
			checkSeries(t, got, wantSeries(s, operations[name]))
		})
	}
	for name, w := range wheels {
		t.Run("wheel "+name, func(t *testing.T) { checkSeries(t, series(families, "wheel", name), wantWheelSeries(w)) })
	}
}

// TestSmallSet counts the series of a busy cache in the small set, and finds them among all.
func TestSmallSet(t *testing.T) {
	c := cache.Must(cache.Options[int, int]{Name: "busy", Limit: 100, Expire: time.Hour})
	defer c.Close(context.Background())
	for key := range 1000 {
		c.Take(key, func() (int, error) { return key, nil })
	}
	small := series(parse(t, served(t, "/metrics?cache=busy")), "cache", "busy")
	all := series(parse(t, served(t, "/metrics?cache=busy&all=1")), "cache", "busy")
	for id := range small {
		if _, ok := all[id]; !ok {
			t.Errorf("%s is not among all", id)
		}
	}
	t.Logf("%d series, of %d", len(small), len(all))
	if len(small) > 55 || len(small) == len(all) {
		t.Errorf("the small set has %d series, all are %d", len(small), len(all))
	}
}

// TestMetricsOfTheProcess checks that without caches and wheels there are only those of the process, and that who
// selects a cache does not get them.
func TestMetricsOfTheProcess(t *testing.T) {
	families := parse(t, metrics(t))
	for _, name := range []string{"heap_bytes", "memory_limit_bytes", "collector_seconds_total", "cpu_available_seconds_total", "stops_total"} {
		f := families["pinwheel_process_"+name]
		if len(f.GetMetric()) != 1 || len(f.Metric[0].Label) > 0 {
			t.Errorf("%s is %v", name, f)
		}
		delete(families, "pinwheel_process_"+name)
	}
	if len(families) > 0 {
		t.Errorf("there is more: %v", families)
	}
	if got := served(t, "/metrics?cache=users"); got != "" {
		t.Errorf("got %q, want nothing", got)
	}
}

// TestMetricsKeepAFamilyTogether checks what the parser does not: Prometheus may reject a
// family in two pieces.
func TestMetricsKeepAFamilyTogether(t *testing.T) {
	registerCache(t, "a", always(distinct(0)))
	registerCache(t, "b", always(distinct(500)))
	registerWheel(t, "a", always(distinctWheel(1000)))
	registerWheel(t, "b", always(distinctWheel(1500)))
	text := metrics(t)
	if !strings.HasSuffix(text, "\n") {
		t.Error("the last line does not end")
	}
	seen := map[string]bool{}
	var family, previous string
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "# HELP "):
			family = strings.Fields(line)[2]
			if seen[family] {
				t.Errorf("%s begins twice", family)
			}
			seen[family] = true
		case strings.HasPrefix(line, "# TYPE "):
			if !strings.HasPrefix(previous, "# HELP "+family+" ") || strings.Fields(line)[2] != family {
				t.Errorf("%q does not follow its HELP", line)
			}
		case !strings.HasPrefix(line, family):
			t.Errorf("%q is within %s", line, family)
		}
		previous = line
	}
	for _, f := range parse(t, text) {
		if f.GetHelp() == "" || f.GetType() == dto.MetricType_UNTYPED || strings.HasSuffix(f.GetName(), "_total") != (f.GetType() == dto.MetricType_COUNTER) {
			t.Errorf("%s has no help, no type, or the name of another type", f.GetName())
		}
	}
}
