package otelpinwheel

import (
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// A family is the metric of one instrument: its kind, and a function that passes the samples
// of a cache or timing wheel to a sink. There may be none.
type family[S any] struct {
	kind                    kind
	name, unit, description string
	observe                 func(to *sink, s *S)
}

// A kind is the kind of an instrument.
type kind int

const (
	counter kind = iota // a number that never falls
	total               // a counter in seconds
	level               // a number that rises and falls, and whose sum over all caches has a meaning: an UpDownCounter
	gauge               // a time or a share, whose sum has no meaning
)

const (
	getResult     = attribute.Key("pinwheel.cache.get.result")
	missReason    = attribute.Key("pinwheel.cache.miss.reason")
	evictionCause = attribute.Key("pinwheel.cache.eviction.cause")
	removalCause  = attribute.Key("pinwheel.cache.removal.cause")
	loadResult    = attribute.Key("pinwheel.cache.load.result")
	refreshResult = attribute.Key("pinwheel.cache.refresh.result")
	whatIfLimit   = attribute.Key("pinwheel.cache.what_if.limit")
)

// cacheFamilies are the metrics of caches but for the histograms, in the order of doc.go.
var cacheFamilies = []family[stats.Snapshot]{
	{counter, "pinwheel.cache.gets", "{get}", "Lookups, by whether they found a live entry.",
		func(to *sink, s *stats.Snapshot) {
			to.count(s.Hits, getResult.String("hit"))
			to.count(s.Misses, getResult.String("miss"))
		}},
	{counter, "pinwheel.cache.misses", "{miss}", "Lookups that found no live entry, by whether the key has recently expired or been evicted.",
		func(to *sink, s *stats.Snapshot) {
			to.count(s.MissesAbsent(), missReason.String("absent"))
			to.count(s.MissesExpired, missReason.String("expired"))
			to.count(s.MissesEvicted, missReason.String("evicted"))
		}},
	{counter, "pinwheel.cache.puts", "{put}", "Values stored.",
		func(to *sink, s *stats.Snapshot) { to.count(s.Sets) }},
	{counter, "pinwheel.cache.restores", "{entry}", "Values that came from a snapshot.",
		func(to *sink, s *stats.Snapshot) { to.count(s.Restored) }},
	{counter, "pinwheel.cache.evictions", "{eviction}", "Values the cache removed, because it was full or their deadline had passed.",
		func(to *sink, s *stats.Snapshot) {
			to.count(s.Removals.Evicted, evictionCause.String("size"))
			to.count(s.Removals.Expired, evictionCause.String("expired"))
		}},
	{counter, "pinwheel.cache.removals", "{removal}", "Values the program removed.",
		func(to *sink, s *stats.Snapshot) {
			to.count(s.Removals.Deleted, removalCause.String("explicit"))
			to.count(s.Removals.Replaced, removalCause.String("replaced"))
			to.count(s.Removals.Cleared, removalCause.String("cleared"))
		}},
	{level, "pinwheel.cache.entry.count", "{entry}", "Entries now.",
		func(to *sink, s *stats.Snapshot) { to.number(s.Entries) }},
	{level, "pinwheel.cache.entry.limit", "{entry}", "Most entries.",
		func(to *sink, s *stats.Snapshot) {
			if s.Limit > 0 {
				to.number(s.Limit)
			}
		}},
	{level, "pinwheel.cache.weight.usage", "{weight}", "Weight of all entries now.",
		func(to *sink, s *stats.Snapshot) {
			if s.MaxWeight > 0 {
				to.count(s.Weight)
			}
		}},
	{level, "pinwheel.cache.weight.limit", "{weight}", "Most weight.",
		func(to *sink, s *stats.Snapshot) {
			if s.MaxWeight > 0 {
				to.count(s.MaxWeight)
			}
		}},
	{gauge, "pinwheel.cache.uptime", "s", "How long ago the cache was made.",
		func(to *sink, s *stats.Snapshot) { to.value(time.Since(to.since).Seconds()) }},
	{gauge, "pinwheel.cache.hottest_key.share", "1", "Share of the recent lookups that are of the hottest key: a lower bound.",
		func(to *sink, s *stats.Snapshot) {
			if s.HottestShare > 0 {
				to.value(s.HottestShare)
			}
		}},
	{counter, "pinwheel.cache.load.waiters", "{caller}", "Callers that joined the load of another caller.",
		func(to *sink, s *stats.Snapshot) { to.count(s.Loads.Waiters) }},
	{counter, "pinwheel.cache.load.abandoned", "{caller}", "Callers that gave up before their load had ended.",
		func(to *sink, s *stats.Snapshot) { to.count(s.Loads.Abandoned) }},
	{level, "pinwheel.cache.load.running", "{load}", "Loads that have not ended.",
		func(to *sink, s *stats.Snapshot) { to.number(s.Loads.Running) }},
	{level, "pinwheel.cache.load.queued", "{load}", "Loads that wait for a permit of MaxLoads.",
		func(to *sink, s *stats.Snapshot) { to.number(s.Loads.Queued) }},
	{gauge, "pinwheel.cache.load.oldest_age", "s", "How long the oldest running load has run; 0 if there is none.",
		func(to *sink, s *stats.Snapshot) { to.value(s.Loads.Oldest.Seconds()) }},
	{counter, "pinwheel.cache.grace.hits", "{hit}", "Lookups that a value past its deadline answered.",
		func(to *sink, s *stats.Snapshot) { to.count(s.HitsInGrace) }},
	{counter, "pinwheel.cache.refreshes", "{refresh}", "Loads of keys that had a value, by result.",
		func(to *sink, s *stats.Snapshot) {
			r := s.Loads.Refreshes
			to.count(r.OK, refreshResult.String("success"))
			to.count(r.Failed, refreshResult.String("failure"))
			to.count(r.Dropped, refreshResult.String("dropped"))
			to.count(r.Skipped, refreshResult.String("skipped"))
		}},
	{level, "pinwheel.cache.negative.count", "{error}", "Errors of loads that are kept.",
		func(to *sink, s *stats.Snapshot) { to.number(s.Negatives) }},
	{level, "pinwheel.cache.callback.queued", "{callback}", "Removal callbacks that have not begun yet.",
		func(to *sink, s *stats.Snapshot) { to.number(s.Callbacks.Queued) }},
	{level, "pinwheel.cache.callback.running", "{callback}", "Removal callbacks running now.",
		func(to *sink, s *stats.Snapshot) { to.number(s.Callbacks.Running) }},
	{gauge, "pinwheel.cache.callback.oldest_age", "s", "How long the oldest running removal callback has run; 0 if there is none.",
		func(to *sink, s *stats.Snapshot) { to.value(s.Callbacks.Oldest.Seconds()) }},
	{counter, "pinwheel.cache.callback.panics", "{panic}", "Removal callbacks that panicked.",
		func(to *sink, s *stats.Snapshot) { to.count(s.Callbacks.Panics) }},
	{level, "pinwheel.cache.expiry.pending", "{entry}", "Entries with a deadline.",
		func(to *sink, s *stats.Snapshot) { to.number(s.Expiry.Pending) }},
	{level, "pinwheel.cache.expiry.overdue", "{entry}", "Entries past their deadline whose removal is late.",
		func(to *sink, s *stats.Snapshot) { to.number(s.Expiry.Overdue) }},
	{level, "pinwheel.cache.expiry.tombstone.count", "{task}", "Removed tasks the timing wheel has not reached yet.",
		func(to *sink, s *stats.Snapshot) { to.number(s.Expiry.Tombstones) }},
	{counter, "pinwheel.cache.what_if.hits", "{hit}", "Lookups that a cache of half, the same or double the limit would answer, as estimated by a sample of the keys.",
		func(to *sink, s *stats.Snapshot) {
			if w := s.WhatIf; w.Gets > 0 {
				to.count(w.Half, whatIfLimit.String("half"))
				to.count(w.Same, whatIfLimit.String("same"))
				to.count(w.Double, whatIfLimit.String("double"))
			}
		}},
	{counter, "pinwheel.cache.what_if.other_policy.hits", "{hit}", "Lookups that a cache of the same limit with the other policy of eviction would answer, as estimated by a sample of the keys.",
		func(to *sink, s *stats.Snapshot) {
			if w := s.WhatIf; w.Gets > 0 {
				to.count(w.OtherPolicy)
			}
		}},
	nearFamily(counter, "pinwheel.cache.near.remote_hits", "{hit}", "Answers of the store of a near cache: values, and \"not found\".",
		func(to *sink, n *stats.Near) { to.count(n.RemoteHits) }),
	nearFamily(counter, "pinwheel.cache.near.fetches", "{fetch}", "Keys that the store of a near cache did not have, and that were fetched.",
		func(to *sink, n *stats.Near) { to.count(n.Fetches) }),
	nearFamily(counter, "pinwheel.cache.near.bypasses", "{fetch}", "Fetches past the store of a near cache, which could not be asked.",
		func(to *sink, n *stats.Near) { to.count(n.Bypasses) }),
	nearFamily(counter, "pinwheel.cache.near.waits", "{load}", "Loads of a near cache that waited for another one, mostly of another instance.",
		func(to *sink, n *stats.Near) { to.count(n.Waits) }),
	nearFamily(counter, "pinwheel.cache.near.overtaken", "{value}", "Values that a near cache fetched and kept nowhere, as their key changed meanwhile.",
		func(to *sink, n *stats.Near) { to.count(n.Overtaken) }),
	nearFamily(counter, "pinwheel.cache.near.unserved", "{get}", "Lookups while a near cache could serve nothing from memory.",
		func(to *sink, n *stats.Near) { to.count(n.Unserved) }),
	nearFamily(counter, "pinwheel.cache.near.served_on", "{get}", "Lookups that a value from memory answered as the store of a near cache could not.",
		func(to *sink, n *stats.Near) { to.count(n.ServedOn) }),
	nearFamily(counter, "pinwheel.cache.near.store.errors", "{error}", "Calls of the store of a near cache that failed.",
		func(to *sink, n *stats.Near) { to.count(n.StoreErrors) }),
	nearFamily(counter, "pinwheel.cache.near.changes", "{key}", "Keys that the source of a near cache reported as changed.",
		func(to *sink, n *stats.Near) { to.count(n.Changes) }),
	nearFamily(counter, "pinwheel.cache.near.forgotten_all", "{time}", "Times that the source of a near cache reported that anything may have changed.",
		func(to *sink, n *stats.Near) { to.count(n.ForgottenAll) }),
	nearFamily(counter, "pinwheel.cache.near.reconnects", "{connection}", "Times that the source of a near cache lost its connection.",
		func(to *sink, n *stats.Near) { to.count(n.Reconnects) }),
	nearFamily(level, "pinwheel.cache.near.serving", "{cache}", "1 if a near cache serves what it has in memory, else 0.",
		func(to *sink, n *stats.Near) {
			serving := 0
			if n.Serving {
				serving = 1
			}
			to.number(serving)
		}),
	nearFamily(gauge, "pinwheel.cache.near.lag", "s", "Time since the moment up to which the source of a near cache has vouched for its changes.",
		func(to *sink, n *stats.Near) { to.value(n.Lag.Seconds()) }),
	nearFamily(gauge, "pinwheel.cache.near.max_lag", "s", "The lag above which a near cache serves nothing from memory.",
		func(to *sink, n *stats.Near) { to.value(n.MaxLag.Seconds()) }),
}

// nearFamily returns a metric that only near caches have.
func nearFamily(k kind, name, unit, description string, observe func(*sink, *stats.Near)) family[stats.Snapshot] {
	return family[stats.Snapshot]{k, name, unit, description, func(to *sink, s *stats.Snapshot) {
		if s.Near.MaxLag > 0 {
			observe(to, &s.Near)
		}
	}}
}

// wheelFamilies are the metrics of timing wheels but for the histogram.
var wheelFamilies = []family[stats.WheelSnapshot]{
	{level, "pinwheel.timingwheel.timer.pending", "{timer}", "Timers that wait for their time.",
		func(to *sink, w *stats.WheelSnapshot) { to.number(w.Pending) }},
	{level, "pinwheel.timingwheel.timer.backlog", "{timer}", "Timers that are due and whose callbacks have not begun yet.",
		func(to *sink, w *stats.WheelSnapshot) { to.number(w.Backlog) }},
	{counter, "pinwheel.timingwheel.timer.started", "{timer}", "Timers set.",
		func(to *sink, w *stats.WheelSnapshot) { to.count(w.Started) }},
	{counter, "pinwheel.timingwheel.timer.removed", "{timer}", "Timers removed before they fired.",
		func(to *sink, w *stats.WheelSnapshot) { to.count(w.Removed) }},
	{counter, "pinwheel.timingwheel.timer.fired", "{timer}", "Callbacks begun.",
		func(to *sink, w *stats.WheelSnapshot) { to.count(w.Fired) }},
	{level, "pinwheel.timingwheel.callback.running", "{callback}", "Callbacks running now.",
		func(to *sink, w *stats.WheelSnapshot) { to.number(w.Running) }},
	{counter, "pinwheel.timingwheel.callback.panics", "{panic}", "Callbacks that panicked or ended their goroutine.",
		func(to *sink, w *stats.WheelSnapshot) { to.count(w.Panics) }},
	{level, "pinwheel.timingwheel.tombstone.count", "{task}", "Removed tasks the timing wheel has not reached yet.",
		func(to *sink, w *stats.WheelSnapshot) { to.number(w.Tombstones) }},
}
