package gozero

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// A family is one metric: its description, and a function that passes the samples of
// a cache or a timing wheel to a sink. There may be none.
type family[S any] struct {
	desc    *prometheus.Desc
	collect func(sink, S)
}

// cacheMetric returns a metric with the label cache, and another one unless label is
// empty.
func cacheMetric(name, help, label string, collect func(sink, stats.Snapshot)) family[stats.Snapshot] {
	labels := []string{"cache"}
	if label != "" {
		labels = append(labels, label)
	}
	return family[stats.Snapshot]{prometheus.NewDesc(name, help, labels, nil), collect}
}

// nearMetric returns a metric that only near caches have.
func nearMetric(name, help string, collect func(sink, stats.Near)) family[stats.Snapshot] {
	return cacheMetric(name, help, "", func(to sink, s stats.Snapshot) {
		if s.Near.MaxLag > 0 {
			collect(to, s.Near)
		}
	})
}

// wheelMetric returns a metric with the label wheel.
func wheelMetric(name, help string, collect func(sink, stats.WheelSnapshot)) family[stats.WheelSnapshot] {
	return family[stats.WheelSnapshot]{prometheus.NewDesc(name, help, []string{"wheel"}, nil), collect}
}

// cacheFamilies are the metrics of caches. A test compares them with those of package
// stats, which has them in another form, as it does not import Prometheus.
var cacheFamilies = []family[stats.Snapshot]{
	cacheMetric("cache_gets_total", "Lookups, by whether they found a live entry.", "result",
		func(to sink, s stats.Snapshot) {
			to.counter(s.Hits, "hit")
			to.counter(s.Misses, "miss")
		}),
	cacheMetric("cache_misses_total", "Lookups that found no live entry, by whether the key has recently expired or been evicted.", "reason",
		func(to sink, s stats.Snapshot) {
			to.counter(s.MissesAbsent(), "absent")
			to.counter(s.MissesExpired, "expired")
			to.counter(s.MissesEvicted, "evicted")
		}),
	cacheMetric("cache_puts_total", "Values stored.", "",
		func(to sink, s stats.Snapshot) { to.counter(s.Sets) }),
	cacheMetric("cache_evictions_total",
		"Values the cache removed, because it was full or their deadline had passed.", "cause",
		func(to sink, s stats.Snapshot) {
			to.counter(s.Removals.Evicted, "size")
			to.counter(s.Removals.Expired, "expired")
		}),
	cacheMetric("cache_removals_total", "Values the program removed.", "cause",
		func(to sink, s stats.Snapshot) {
			to.counter(s.Removals.Deleted, "explicit")
			to.counter(s.Removals.Replaced, "replaced")
			to.counter(s.Removals.Cleared, "cleared")
		}),
	cacheMetric("cache_size", "Entries now.", "",
		func(to sink, s stats.Snapshot) { to.gauge(float64(s.Entries)) }),
	cacheMetric("cache_created_timestamp_seconds", "When the cache was made, since 1970.", "",
		func(to sink, _ stats.Snapshot) { to.gauge(float64(to.since.UnixMilli()) / 1000) }),
	cacheMetric("cache_hottest_key_share", "Share of the recent lookups that are of the hottest key: a lower bound.", "",
		func(to sink, s stats.Snapshot) {
			if s.HottestShare > 0 {
				to.gauge(s.HottestShare)
			}
		}),
	cacheMetric("cache_capacity", "Most entries.", "",
		func(to sink, s stats.Snapshot) {
			if s.Limit > 0 {
				to.gauge(float64(s.Limit))
			}
		}),
	cacheMetric("cache_weight", "Weight of all entries now.", "",
		func(to sink, s stats.Snapshot) {
			if s.MaxWeight > 0 {
				to.gauge(float64(s.Weight))
			}
		}),
	cacheMetric("cache_weight_capacity", "Most weight.", "",
		func(to sink, s stats.Snapshot) {
			if s.MaxWeight > 0 {
				to.gauge(float64(s.MaxWeight))
			}
		}),
	cacheMetric("cache_loads_seconds", "How long loads took, by result.", "result",
		func(to sink, s stats.Snapshot) {
			to.histogram(s.Loads.OK, "success")
			to.histogram(s.Loads.Failed, "failure")
		}),
	cacheMetric("cache_load_waiters_total", "Callers that joined the load of another caller.", "",
		func(to sink, s stats.Snapshot) { to.counter(s.Loads.Waiters) }),
	cacheMetric("cache_loads_running", "Loads that have not ended.", "",
		func(to sink, s stats.Snapshot) { to.gauge(float64(s.Loads.Running)) }),
	cacheMetric("cache_oldest_load_seconds", "How long the oldest running load has run; 0 if there is none.", "",
		func(to sink, s stats.Snapshot) { to.gauge(s.Loads.Oldest.Seconds()) }),
	cacheMetric("cache_loads_abandoned_total", "Callers that gave up before their load had ended.", "",
		func(to sink, s stats.Snapshot) { to.counter(s.Loads.Abandoned) }),
	cacheMetric("cache_loads_queued", "Loads that wait for a permit of MaxLoads.", "",
		func(to sink, s stats.Snapshot) { to.gauge(float64(s.Loads.Queued)) }),
	cacheMetric("cache_grace_hits_total", "Lookups that a value past its deadline answered.", "",
		func(to sink, s stats.Snapshot) { to.counter(s.HitsInGrace) }),
	cacheMetric("cache_refreshes_total", "Loads of keys that had a value, by result.", "result",
		func(to sink, s stats.Snapshot) {
			to.counter(s.Loads.Refreshes.OK, "success")
			to.counter(s.Loads.Refreshes.Failed, "failure")
			to.counter(s.Loads.Refreshes.Dropped, "dropped")
			to.counter(s.Loads.Refreshes.Skipped, "skipped")
		}),
	cacheMetric("cache_negatives", "Errors of loads that are kept.", "",
		func(to sink, s stats.Snapshot) { to.gauge(float64(s.Negatives)) }),
	cacheMetric("cache_callbacks_queued", "Removal callbacks that have not begun yet.", "",
		func(to sink, s stats.Snapshot) { to.gauge(float64(s.Callbacks.Queued)) }),
	cacheMetric("cache_callbacks_running", "Removal callbacks running now.", "",
		func(to sink, s stats.Snapshot) { to.gauge(float64(s.Callbacks.Running)) }),
	cacheMetric("cache_oldest_callback_seconds", "How long the oldest running removal callback has run; 0 if there is none.", "",
		func(to sink, s stats.Snapshot) { to.gauge(s.Callbacks.Oldest.Seconds()) }),
	cacheMetric("cache_callback_panics_total", "Removal callbacks that panicked.", "",
		func(to sink, s stats.Snapshot) { to.counter(s.Callbacks.Panics) }),
	cacheMetric("cache_expiry_pending", "Entries with a deadline.", "",
		func(to sink, s stats.Snapshot) { to.gauge(float64(s.Expiry.Pending)) }),
	cacheMetric("cache_expiry_overdue", "Entries past their deadline whose removal is late.", "",
		func(to sink, s stats.Snapshot) { to.gauge(float64(s.Expiry.Overdue)) }),
	cacheMetric("cache_expiry_tombstones", "Removed tasks the timing wheel has not reached yet.", "",
		func(to sink, s stats.Snapshot) { to.gauge(float64(s.Expiry.Tombstones)) }),
	cacheMetric("cache_expiry_lateness_seconds", "How long after its deadline an expired entry was removed.", "",
		func(to sink, s stats.Snapshot) { to.histogram(s.Expiry.Lateness) }),
	cacheMetric("cache_evicted_age_seconds",
		"How long ago a value had been stored when it was evicted because the cache was full.", "",
		func(to sink, s stats.Snapshot) {
			to.histogram(s.EvictedAge)
		}),
	cacheMetric("cache_what_if_hits_total",
		"Lookups that a cache of half, the same or double the limit would answer, as estimated by a sample of the keys.", "limit",
		func(to sink, s stats.Snapshot) {
			if s.WhatIf.Gets > 0 {
				to.counter(s.WhatIf.Half, "half")
				to.counter(s.WhatIf.Same, "same")
				to.counter(s.WhatIf.Double, "double")
			}
		}),
	cacheMetric("cache_what_if_other_policy_hits_total",
		"Lookups that a cache of the same limit with the other policy of eviction would answer, as estimated by a sample of the keys.", "",
		func(to sink, s stats.Snapshot) {
			if s.WhatIf.Gets > 0 {
				to.counter(s.WhatIf.OtherPolicy)
			}
		}),
	nearMetric("cache_near_remote_hits_total", "Answers of the store of a near cache: values, and \"not found\".",
		func(to sink, n stats.Near) { to.counter(n.RemoteHits) }),
	nearMetric("cache_near_fetches_total", "Keys that the store of a near cache did not have, and that were fetched.",
		func(to sink, n stats.Near) { to.counter(n.Fetches) }),
	nearMetric("cache_near_bypasses_total", "Fetches past the store of a near cache, which could not be asked.",
		func(to sink, n stats.Near) { to.counter(n.Bypasses) }),
	nearMetric("cache_near_waits_total", "Loads of a near cache that waited for another one, mostly of another instance.",
		func(to sink, n stats.Near) { to.counter(n.Waits) }),
	nearMetric("cache_near_overtaken_total", "Values that a near cache fetched and kept nowhere, as their key changed meanwhile.",
		func(to sink, n stats.Near) { to.counter(n.Overtaken) }),
	nearMetric("cache_near_unserved_total", "Lookups while a near cache could serve nothing from memory.",
		func(to sink, n stats.Near) { to.counter(n.Unserved) }),
	nearMetric("cache_near_served_on_total", "Lookups that a value from memory answered as the store of a near cache could not.",
		func(to sink, n stats.Near) { to.counter(n.ServedOn) }),
	nearMetric("cache_near_store_errors_total", "Calls of the store of a near cache that failed.",
		func(to sink, n stats.Near) { to.counter(n.StoreErrors) }),
	nearMetric("cache_near_changes_total", "Keys that the source of a near cache reported as changed.",
		func(to sink, n stats.Near) { to.counter(n.Changes) }),
	nearMetric("cache_near_forgotten_all_total", "Times that the source of a near cache reported that anything may have changed.",
		func(to sink, n stats.Near) { to.counter(n.ForgottenAll) }),
	nearMetric("cache_near_reconnects_total", "Times that the source of a near cache lost its connection.",
		func(to sink, n stats.Near) { to.counter(n.Reconnects) }),
	nearMetric("cache_near_serving", "1 if a near cache serves what it has in memory, else 0.",
		func(to sink, n stats.Near) {
			serving := 0.0
			if n.Serving {
				serving = 1
			}
			to.gauge(serving)
		}),
	nearMetric("cache_near_lag_seconds", "Time since the moment up to which the source of a near cache has vouched for its changes.",
		func(to sink, n stats.Near) { to.gauge(n.Lag.Seconds()) }),
	nearMetric("cache_near_max_lag_seconds", "The lag above which a near cache serves nothing from memory.",
		func(to sink, n stats.Near) { to.gauge(n.MaxLag.Seconds()) }),
}

// wheelFamilies are the metrics of timing wheels.
var wheelFamilies = []family[stats.WheelSnapshot]{
	wheelMetric("timingwheel_pending", "Timers that wait for their time.",
		func(to sink, w stats.WheelSnapshot) { to.gauge(float64(w.Pending)) }),
	wheelMetric("timingwheel_backlog", "Timers that are due and whose callbacks have not begun yet.",
		func(to sink, w stats.WheelSnapshot) { to.gauge(float64(w.Backlog)) }),
	wheelMetric("timingwheel_running", "Callbacks running now.",
		func(to sink, w stats.WheelSnapshot) { to.gauge(float64(w.Running)) }),
	wheelMetric("timingwheel_tombstones", "Removed tasks the timing wheel has not reached yet.",
		func(to sink, w stats.WheelSnapshot) { to.gauge(float64(w.Tombstones)) }),
	wheelMetric("timingwheel_started_total", "Timers set.",
		func(to sink, w stats.WheelSnapshot) { to.counter(w.Started) }),
	wheelMetric("timingwheel_removed_total", "Timers removed before they fired.",
		func(to sink, w stats.WheelSnapshot) { to.counter(w.Removed) }),
	wheelMetric("timingwheel_fired_total", "Callbacks begun.",
		func(to sink, w stats.WheelSnapshot) { to.counter(w.Fired) }),
	wheelMetric("timingwheel_panics_total", "Callbacks that panicked or ended their goroutine.",
		func(to sink, w stats.WheelSnapshot) { to.counter(w.Panics) }),
	wheelMetric("timingwheel_lateness_seconds", "How long after its timer was due a callback began.",
		func(to sink, w stats.WheelSnapshot) { to.histogram(w.Lateness) }),
}
