package stats

import (
	"cmp"
	"io"
	"iter"
	"math"
	"strconv"
	"time"
)

// A family is one metric of the exposition. write appends its samples of one S, a
// [Snapshot] or a [WheelSnapshot]; there may be none.
type family[S any] struct {
	name, kind, help string
	write            func(*exposition, S)
}

// cacheFamilies are the metrics of caches, in the order of the output. doc.go lists their
// names too.
var cacheFamilies = []family[Snapshot]{
	{"cache_gets_total", "counter", "Lookups, by whether they found a live entry.",
		func(e *exposition, s Snapshot) {
			e.value(`result="hit"`, s.Hits)
			e.value(`result="miss"`, s.Misses)
		}},
	{"cache_misses_total", "counter", "Lookups that found no live entry, by whether the key has recently expired or been evicted.",
		func(e *exposition, s Snapshot) {
			e.value(`reason="absent"`, s.MissesAbsent())
			e.value(`reason="expired"`, s.MissesExpired)
			e.value(`reason="evicted"`, s.MissesEvicted)
		}},
	{"cache_puts_total", "counter", "Values stored.",
		func(e *exposition, s Snapshot) { e.value("", s.Sets) }},
	{"cache_evictions_total", "counter", "Values the cache removed, because it was full or their deadline had passed.",
		func(e *exposition, s Snapshot) {
			e.value(`cause="size"`, s.Removals.Evicted)
			e.value(`cause="expired"`, s.Removals.Expired)
		}},
	{"cache_removals_total", "counter", "Values the program removed.",
		func(e *exposition, s Snapshot) {
			e.value(`cause="explicit"`, s.Removals.Deleted)
			e.value(`cause="replaced"`, s.Removals.Replaced)
			e.value(`cause="cleared"`, s.Removals.Cleared)
		}},
	{"cache_size", "gauge", "Entries now.",
		func(e *exposition, s Snapshot) { e.gauge(s.Entries) }},
	{"cache_created_timestamp_seconds", "gauge", "When the cache was made, since 1970.",
		func(e *exposition, _ Snapshot) {
			e.name("", "")
			e.float(float64(e.since.UnixMilli()) / 1000)
		}},
	{"cache_hottest_key_share", "gauge", "Share of the recent lookups that are of the hottest key: a lower bound.",
		func(e *exposition, s Snapshot) {
			if s.HottestShare > 0 {
				e.name("", "")
				e.float(s.HottestShare)
			}
		}},
	{"cache_capacity", "gauge", "Most entries.",
		func(e *exposition, s Snapshot) {
			if s.Limit > 0 {
				e.gauge(s.Limit)
			}
		}},
	{"cache_weight", "gauge", "Weight of all entries now.",
		func(e *exposition, s Snapshot) {
			if s.MaxWeight > 0 {
				e.value("", s.Weight)
			}
		}},
	{"cache_weight_capacity", "gauge", "Most weight.",
		func(e *exposition, s Snapshot) {
			if s.MaxWeight > 0 {
				e.value("", s.MaxWeight)
			}
		}},
	{"cache_loads_seconds", "histogram", "How long loads took, by result.",
		func(e *exposition, s Snapshot) {
			e.histogram(`result="success"`, s.Loads.OK)
			e.histogram(`result="failure"`, s.Loads.Failed)
		}},
	{"cache_load_waiters_total", "counter", "Callers that joined the load of another caller.",
		func(e *exposition, s Snapshot) { e.value("", s.Loads.Waiters) }},
	{"cache_loads_running", "gauge", "Loads that have not ended.",
		func(e *exposition, s Snapshot) { e.gauge(s.Loads.Running) }},
	{"cache_oldest_load_seconds", "gauge", "How long the oldest running load has run; 0 if there is none.",
		func(e *exposition, s Snapshot) { e.seconds(s.Loads.Oldest) }},
	{"cache_loads_abandoned_total", "counter", "Callers that gave up before their load had ended.",
		func(e *exposition, s Snapshot) { e.value("", s.Loads.Abandoned) }},
	{"cache_loads_queued", "gauge", "Loads that wait for a permit of MaxLoads.",
		func(e *exposition, s Snapshot) { e.gauge(s.Loads.Queued) }},
	{"cache_grace_hits_total", "counter", "Lookups that a value past its deadline answered.",
		func(e *exposition, s Snapshot) { e.value("", s.HitsInGrace) }},
	{"cache_refreshes_total", "counter", "Loads of keys that had a value, by result.",
		func(e *exposition, s Snapshot) {
			e.value(`result="success"`, s.Loads.Refreshes.OK)
			e.value(`result="failure"`, s.Loads.Refreshes.Failed)
			e.value(`result="dropped"`, s.Loads.Refreshes.Dropped)
			e.value(`result="skipped"`, s.Loads.Refreshes.Skipped)
		}},
	{"cache_negatives", "gauge", "Errors of loads that are kept.",
		func(e *exposition, s Snapshot) { e.gauge(s.Negatives) }},
	{"cache_callbacks_queued", "gauge", "Removal callbacks that have not begun yet.",
		func(e *exposition, s Snapshot) { e.gauge(s.Callbacks.Queued) }},
	{"cache_callbacks_running", "gauge", "Removal callbacks running now.",
		func(e *exposition, s Snapshot) { e.gauge(s.Callbacks.Running) }},
	{"cache_oldest_callback_seconds", "gauge", "How long the oldest running removal callback has run; 0 if there is none.",
		func(e *exposition, s Snapshot) { e.seconds(s.Callbacks.Oldest) }},
	{"cache_callback_panics_total", "counter", "Removal callbacks that panicked.",
		func(e *exposition, s Snapshot) { e.value("", s.Callbacks.Panics) }},
	{"cache_expiry_pending", "gauge", "Entries with a deadline.",
		func(e *exposition, s Snapshot) { e.gauge(s.Expiry.Pending) }},
	{"cache_expiry_overdue", "gauge", "Entries past their deadline whose removal is late.",
		func(e *exposition, s Snapshot) { e.gauge(s.Expiry.Overdue) }},
	{"cache_expiry_tombstones", "gauge", "Removed tasks the timing wheel has not reached yet.",
		func(e *exposition, s Snapshot) { e.gauge(s.Expiry.Tombstones) }},
	{"cache_expiry_lateness_seconds", "histogram", "How long after its deadline an expired entry was removed.",
		func(e *exposition, s Snapshot) { e.histogram("", s.Expiry.Lateness) }},
	{"cache_evicted_age_seconds", "histogram", "How long ago a value had been stored when it was evicted because the cache was full.",
		func(e *exposition, s Snapshot) {
			e.histogram("", s.EvictedAge)
		}},
	{"cache_what_if_hits_total", "counter", "Lookups that a cache of half, the same or double the limit would answer, as estimated by a sample of the keys.",
		func(e *exposition, s Snapshot) {
			if s.WhatIf.Gets > 0 {
				e.value(`limit="half"`, s.WhatIf.Half)
				e.value(`limit="same"`, s.WhatIf.Same)
				e.value(`limit="double"`, s.WhatIf.Double)
			}
		}},
	{"cache_what_if_other_policy_hits_total", "counter", "Lookups that a cache of the same limit with the other policy of eviction would answer, as estimated by a sample of the keys.",
		func(e *exposition, s Snapshot) {
			if s.WhatIf.Gets > 0 {
				e.value("", s.WhatIf.OtherPolicy)
			}
		}},
	nearFamily("cache_near_remote_hits_total", "counter", "Answers of the store of a near cache: values, and \"not found\".",
		func(e *exposition, n *Near) { e.value("", n.RemoteHits) }),
	nearFamily("cache_near_fetches_total", "counter", "Keys that the store of a near cache did not have, and that were fetched.",
		func(e *exposition, n *Near) { e.value("", n.Fetches) }),
	nearFamily("cache_near_bypasses_total", "counter", "Fetches past the store of a near cache, which could not be asked.",
		func(e *exposition, n *Near) { e.value("", n.Bypasses) }),
	nearFamily("cache_near_waits_total", "counter", "Loads of a near cache that waited for another one, mostly of another instance.",
		func(e *exposition, n *Near) { e.value("", n.Waits) }),
	nearFamily("cache_near_overtaken_total", "counter", "Values that a near cache fetched and kept nowhere, as their key changed meanwhile.",
		func(e *exposition, n *Near) { e.value("", n.Overtaken) }),
	nearFamily("cache_near_unserved_total", "counter", "Lookups while a near cache could serve nothing from memory.",
		func(e *exposition, n *Near) { e.value("", n.Unserved) }),
	nearFamily("cache_near_served_on_total", "counter", "Lookups that a value from memory answered as the store of a near cache could not.",
		func(e *exposition, n *Near) { e.value("", n.ServedOn) }),
	nearFamily("cache_near_store_errors_total", "counter", "Calls of the store of a near cache that failed.",
		func(e *exposition, n *Near) { e.value("", n.StoreErrors) }),
	nearFamily("cache_near_changes_total", "counter", "Keys that the source of a near cache reported as changed.",
		func(e *exposition, n *Near) { e.value("", n.Changes) }),
	nearFamily("cache_near_forgotten_all_total", "counter", "Times that the source of a near cache reported that anything may have changed.",
		func(e *exposition, n *Near) { e.value("", n.ForgottenAll) }),
	nearFamily("cache_near_reconnects_total", "counter", "Times that the source of a near cache lost its connection.",
		func(e *exposition, n *Near) { e.value("", n.Reconnects) }),
	nearFamily("cache_near_serving", "gauge", "1 if a near cache serves what it has in memory, else 0.",
		func(e *exposition, n *Near) {
			serving := 0
			if n.Serving {
				serving = 1
			}
			e.gauge(serving)
		}),
	nearFamily("cache_near_lag_seconds", "gauge", "Time since the moment up to which the source of a near cache has vouched for its changes.",
		func(e *exposition, n *Near) { e.seconds(n.Lag) }),
	nearFamily("cache_near_max_lag_seconds", "gauge", "The lag above which a near cache serves nothing from memory.",
		func(e *exposition, n *Near) { e.seconds(n.MaxLag) }),
}

// nearFamily returns a metric that only near caches have.
func nearFamily(name, kind, help string, write func(*exposition, *Near)) family[Snapshot] {
	return family[Snapshot]{name, kind, help, func(e *exposition, s Snapshot) {
		if s.Near.exists() {
			write(e, &s.Near)
		}
	}}
}

// wheelFamilies are the metrics of timing wheels.
var wheelFamilies = []family[WheelSnapshot]{
	{"timingwheel_pending", "gauge", "Timers that wait for their time.",
		func(e *exposition, w WheelSnapshot) { e.gauge(w.Pending) }},
	{"timingwheel_backlog", "gauge", "Timers that are due and whose callbacks have not begun yet.",
		func(e *exposition, w WheelSnapshot) { e.gauge(w.Backlog) }},
	{"timingwheel_running", "gauge", "Callbacks running now.",
		func(e *exposition, w WheelSnapshot) { e.gauge(w.Running) }},
	{"timingwheel_tombstones", "gauge", "Removed tasks the timing wheel has not reached yet.",
		func(e *exposition, w WheelSnapshot) { e.gauge(w.Tombstones) }},
	{"timingwheel_started_total", "counter", "Timers set.",
		func(e *exposition, w WheelSnapshot) { e.value("", w.Started) }},
	{"timingwheel_removed_total", "counter", "Timers removed before they fired.",
		func(e *exposition, w WheelSnapshot) { e.value("", w.Removed) }},
	{"timingwheel_fired_total", "counter", "Callbacks begun.",
		func(e *exposition, w WheelSnapshot) { e.value("", w.Fired) }},
	{"timingwheel_panics_total", "counter", "Callbacks that panicked or ended their goroutine.",
		func(e *exposition, w WheelSnapshot) { e.value("", w.Panics) }},
	{"timingwheel_lateness_seconds", "histogram", "How long after its timer was due a callback began.",
		func(e *exposition, w WheelSnapshot) { e.histogram("", w.Lateness) }},
}

// writeMetrics writes the statistics of the selected caches and wheels in Prometheus
// text format 0.0.4.
func (r *registries) writeMetrics(to io.Writer, of selection) error {
	now := time.Now()
	err := writeFamilies(to, "cache", cacheFamilies, r.caches.looks(of.hasCache, now))
	return cmp.Or(err, writeFamilies(to, "wheel", wheelFamilies, r.wheels.looks(of.hasWheel, now)))
}

// writeFamilies writes the samples of all looks, with their names in the label by. The
// format wants all samples of a family together.
func writeFamilies[S any](to io.Writer, by string, families []family[S], looks []look[S]) error {
	e := exposition{by: by}
	for _, f := range families {
		e.family, e.kind, e.help = f.name, f.kind, f.help
		e.headed = false
		for _, l := range looks {
			e.source, e.since = l.name, l.since
			f.write(&e, l.stats)
			if len(e.buf) >= chunk {
				if _, err := to.Write(e.buf); err != nil {
					return err
				}
				e.buf = e.buf[:0]
			}
		}
	}
	_, err := to.Write(e.buf)
	return err
}

// An exposition is a text under construction.
type exposition struct {
	buf                []byte    // what is not written yet
	family, kind, help string    // of the samples being written
	headed             bool      // the family has its header, which it gets with the first sample
	by                 string    // label that has source in every sample: cache or wheel
	source             string    // name of the cache or wheel being written
	since              time.Time // when that was made
}

// value writes a sample. label is a further label, as in the text, or "".
func (e *exposition) value(label string, v uint64) {
	e.name("", label)
	e.uint(v)
}

// gauge writes a sample that may be negative.
func (e *exposition) gauge(v int) {
	e.name("", "")
	e.buf = strconv.AppendInt(e.buf, int64(v), 10)
	e.buf = append(e.buf, '\n')
}

// seconds writes a sample that is a duration.
func (e *exposition) seconds(d time.Duration) {
	e.name("", "")
	e.float(d.Seconds())
}

// histogram writes the 25 samples of h, a [Histogram] or [Ages], unless it is empty, as
// most are. Buckets of the format are cumulative.
func (e *exposition) histogram(label string, h interface {
	Buckets() iter.Seq2[time.Duration, uint64]
	Count() uint64
	Sum() time.Duration
}) {
	if h.Count() == 0 {
		return
	}
	separator := ""
	if label != "" {
		separator = ","
	}
	var below uint64
	for bound, n := range h.Buckets() {
		below += n
		le := "+Inf"
		if bound < math.MaxInt64 {
			le = strconv.FormatFloat(bound.Seconds(), 'g', -1, 64)
		}
		e.name("_bucket", label+separator+`le="`+le+`"`)
		e.uint(below)
	}
	e.name("_sum", label)
	e.float(h.Sum().Seconds())
	e.name("_count", label)
	e.uint(below)
}

// name writes the name of a sample and its labels.
func (e *exposition) name(suffix, label string) {
	if !e.headed {
		e.headed = true
		e.buf = append(e.buf, "# HELP "+e.family+" "+e.help+"\n# TYPE "+e.family+" "+e.kind+"\n"...)
	}
	e.buf = append(e.buf, e.family...)
	e.buf = append(e.buf, suffix...)
	e.buf = append(e.buf, '{')
	e.buf = append(e.buf, e.by...)
	e.buf = append(e.buf, `="`...)
	e.buf = appendLabelValue(e.buf, e.source)
	e.buf = append(e.buf, '"')
	if label != "" {
		e.buf = append(e.buf, ',')
		e.buf = append(e.buf, label...)
	}
	e.buf = append(e.buf, "} "...)
}

func (e *exposition) uint(v uint64) {
	e.buf = strconv.AppendUint(e.buf, v, 10)
	e.buf = append(e.buf, '\n')
}

func (e *exposition) float(v float64) {
	e.buf = strconv.AppendFloat(e.buf, v, 'g', -1, 64)
	e.buf = append(e.buf, '\n')
}

// appendLabelValue appends value, which must be valid UTF-8, escaped.
func appendLabelValue(buf []byte, value string) []byte {
	for i := range len(value) {
		switch c := value[i]; c {
		case '\\', '"':
			buf = append(buf, '\\', c)
		case '\n':
			buf = append(buf, '\\', 'n')
		default:
			buf = append(buf, c)
		}
	}
	return buf
}
