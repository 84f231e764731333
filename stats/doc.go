// Package stats holds what caches and timing wheels count, and shows it.
//
// A [Snapshot] has the counts of one cache since it was made. It is a plain value: keep two,
// and [Snapshot.Minus] returns what happened in between. A [Histogram] in it holds
// durations, which a [DurationRecorder] records. A [WheelSnapshot] has the counts of a
// timing wheel, which runs timers.
//
// Every cache and timing wheel calls [Register]. [Caches] and [Wheels] take a snapshot of
// each, and [Handler] serves them over HTTP. The package knows a cache only by the
// functions of its [CacheSource]. It starts no goroutine, and before the first call of
// Handler it computes nothing unless asked. The wheel that expires the entries of a cache is
// not registered: its counts are in the Snapshot of the cache.
//
// # What Handler serves
//
// One handler serves all caches and timing wheels of the process, below any path:
//
//	http.Handle("/cache/", stats.Handler())
//
// It looks at the last element of the path only, so [http.StripPrefix] is not needed, and
// its links are relative, so a proxy may add a prefix. Mount it at a path that ends in a
// slash.
//
//	/cache/            a page for people, with charts
//	/cache/stats.json  the same numbers as JSON
//	/cache/metrics     the same numbers in Prometheus text format 0.0.4
//	/cache/purge       removes entries, with [WithPurge] only
//	/cache/record      records the accesses to a cache, with [WithPurge] only
//
// The page is a static file. Its script fetches stats.json every few seconds and draws it.
// The page loads nothing from other origins: the Content-Security-Policy of every answer
// allows files and connections of the same origin only, and neither inline scripts nor
// inline styles. No answer is stored by a browser or a proxy.
//
// Answers are compressed for clients that accept gzip, and streamed; the process computes
// two at once. The queries cache=NAME and wheel=NAME, each any number of times, select
// what is in stats.json and metrics. Names, keys and errors are shown up to 200 bytes.
//
// The charts show what happened before the page was opened. So from the first call of
// Handler on, a timer takes a Snapshot of each cache and timing wheel every 5 seconds, and
// the last 60 points, five minutes, are kept in memory. A cache that is made later has
// points from its registration on. After more than 20 seconds without a sample the history
// begins anew.
//
// The handler shows counts and the names of caches and timing wheels, never a value,
// and keys only of a cache that has HotKeys set in its options. Without WithPurge it
// only reads. Middleware around it must decide who may see the page, as for any other
// handler:
//
//	http.Handle("/cache/", onlyAdmins(stats.Handler()))
//
// At a loopback address the handler answers only if the Host is localhost, a loopback
// address or a name of [WithHosts]. Otherwise another site could read it by DNS rebinding.
//
// The function given to WithPurge decides about every request to purge or to record.
// Requests that a page of another site made a browser send are refused before.
//
// Where [expvar] is served, expvar.Publish("pinwheel", stats.Var{}) adds the same
// JSON to it.
//
// # JSON
//
// The query points=N, from 0 to 61, adds the newest N points of history. Without it
// there is no history. An answer has 3,000 points at most, or two for each cache and
// wheel: with more than 50 of them each has fewer. The last point may be partial, and then
// is at least 1 second long; a closed one with the same start replaces it. The last minute
// and the last five are always there, in windows.
//
// All counters are cumulative since the cache or timing wheel was made, except that
// those in windows and history are of that time only. All durations are in seconds,
// and all quantiles are estimates, 0 when there was nothing to measure. Every field
// but history is always there. A field may be added; one that is renamed, removed or
// changed in meaning also changes version. docs/stats.schema.json is a JSON Schema
// of it.
//
//	version                 number, 1
//	time                    string, RFC 3339, when the numbers were taken
//	interval_seconds        number, 5; how often a point of history is closed
//	program, host           string, which process this is
//	purge                   boolean, whether purge is served; it may still refuse
//	caches                  array, sorted by name, empty if there is no cache
//	  name                  string, unique among caches
//	  since                 string, RFC 3339, when the cache was made
//	  hits, misses          number, counters; their sum is the number of gets
//	  hit_ratio             number, 0 to 1; 0 before the first get
//	  misses_absent         number, counter; of misses, those of keys that the cache did not have lately
//	  misses_expired        number, counter; of misses, those that found an entry past its deadline, or a key that expired recently
//	  misses_evicted        number, counter; of misses, those of keys that were evicted recently
//	  hits_in_grace         number, counter; Takes that got a value past its deadline; nearly all are among hits
//	  sets                  number, counter; values stored, without those restored
//	  restored              number, counter; values that came from a snapshot
//	  entries, limit        number, gauges; limit 0 means none
//	  negatives             number, gauge; errors of loads that are kept
//	  weight, max_weight    number, gauges; max_weight 0 means the cache is not weighted
//	  removals              object, counters by cause
//	    expired, evicted, deleted, replaced, cleared
//	  loads                 object
//	    ok, failed          number, counters; loads that ended so
//	    waiters             number, counter; callers that joined the load of another
//	    running             number, gauge; loads that have not ended
//	    oldest_seconds      number, gauge; how long the oldest of them has run
//	    queued              number, gauge; of running, those that wait for a permit of MaxLoads
//	    abandoned           number, counter; callers that left before their load had ended
//	    refreshes           object, counters; loads of keys that had a value
//	      ok, failed, dropped, skipped
//	    mean_seconds, p50_seconds, p99_seconds
//	                        number, of all loads, ok and failed; 0 when there was none
//	  callbacks             object
//	    queued, running     number, gauges
//	    oldest_seconds      number, gauge; how long the oldest running call has run
//	    panics              number, counter
//	  expiry                object
//	    pending, tombstones number, gauges
//	    overdue             number, gauge; of pending, those past their deadline, once removal is late
//	    lateness_p50_seconds, lateness_p99_seconds
//	                        number, from the deadline to the removal; 0 when nothing expired
//	  windows               object
//	    1m, 5m              object, what happened in the last minute and the last five
//	      seconds           number, its real length; less while the process is young, 0 if nothing is known yet
//	      gets, hits, misses
//	                        number
//	      misses_absent, misses_expired, misses_evicted
//	                        number, of misses
//	      hit_ratio         number, 0 to 1; 0 when there were no gets
//	      gets_per_second   number, 0 if seconds is
//	      sets, evicted, expired, loads, loads_failed, loads_abandoned
//	                        number; loads are those that ended, ok and failed
//	      load_p50_seconds, load_p99_seconds
//	                        number, 0 when there was no load
//	      evicted_age_p50_seconds, evicted_age_p99_seconds
//	                        number, 0 if evicted is, or if the cache does not track it
//	  evicted_age           object, or null if the cache does not track it or has evicted nothing
//	    count               number, counter; values evicted, since ages are tracked
//	    p50_seconds, p99_seconds
//	                        number, from when a value was stored to its eviction
//	  what_if               object, of the last five minutes or since the limit was changed; null if not estimated
//	    half, same, double, other_policy
//	                        object, about a cache of half, the same or double the limit, or the other policy
//	      limit             number, that limit
//	      hit_ratio         number, 0 to 1, an estimate
//	  near                  object, or null if the cache is not of package near
//	    remote_hits         number, counter; answers of the store: a value, or that there is none
//	    fetches             number, counter; keys that the store did not have and that were fetched
//	    bypasses            number, counter; fetches while the store could not be asked
//	    waits               number, counter; loads that waited for another load, mostly of another instance
//	    overtaken           number, counter; fetched values that are kept nowhere, as their key changed meanwhile
//	    unserved            number, counter; gets while nothing could be served from memory; they are among the misses
//	    served_on           number, counter; of those, gets that got a value from memory, as the store could not be asked
//	    store_errors        number, counter; calls of the store that failed
//	    changes             number, counter; changes of keys that the source told
//	    forgotten_all       number, counter; how often the source told that any key may have changed
//	    reconnects          number, counter; how often the source lost its connection
//	    serving             boolean, whether values in memory may be served
//	    lag_seconds         number, gauge; time since the moment for which the source has vouched
//	    max_lag_seconds     number, gauge; with a longer lag nothing is served from memory
//	  hot_keys              array, the hottest first, or null if the cache does not track them
//	    key                 string, the key as text
//	    share               number, 0 to 1; of recent gets, a lower bound
//	  hottest_key_share     number, gauge, 0 to 1; of recent gets, a lower bound; 0 if not tracked
//	  settings              object, options of the cache; 0 means not set
//	    expire_seconds, idle_seconds, jitter, timeout_seconds, max_loads
//	                        number
//	    policy              string, what chooses the entry to evict
//	  last_load_error       object, or null if no load has failed
//	    time                string, RFC 3339
//	    type                string, Go type of the innermost error
//	    text                string; empty unless the cache has hot keys, as it may have keys in it
//	  purgeable             boolean, whether keys can be written as text, and so be purged
//	  purgeable_by_prefix   boolean, whether keys are strings, and can be purged by their prefix
//	  findings              array, what is wrong, the most urgent first; empty if nothing is wrong
//	    cause               string, what it is in a few words; docs/stats.schema.json has them all
//	    words               string, a sentence with the evidence
//	  history               array, the oldest point first; only if the query has points
//	    start               string, RFC 3339, which also tells points apart
//	    seconds             number, how long the point is
//	    partial             boolean, true if it is not over
//	    hits, misses_absent, misses_expired, misses_evicted, hits_in_grace, sets
//	                        number
//	    entries, limit, weight, max_weight
//	                        number, gauges at the end of the point
//	    expired, evicted, deleted, replaced, cleared
//	                        number, values removed, by cause
//	    loads, loads_failed, load_waiters, loads_abandoned
//	                        number; loads has those that failed too
//	    load_p50_seconds, load_p99_seconds
//	                        number, 0 if loads is
//	    evicted_age_p50_seconds, evicted_age_p99_seconds
//	                        number, 0 if evicted is, or if the cache does not track it
//	    refreshes, refreshes_failed, refreshes_skipped
//	                        number; refreshes are those that brought a value
//	    loads_running, loads_queued, callbacks_queued, callbacks_running
//	                        number, gauges at the end of the point
//	    callback_panics     number
//	    expiry_pending, expiry_overdue, tombstones
//	                        number, gauges at the end of the point
//	    lateness_p50_seconds, lateness_p99_seconds
//	                        number, 0 if expired is
//	    near                object, or null, as that of the cache
//	      remote_hits, fetches, bypasses, waits, overtaken, unserved, served_on, store_errors, changes, forgotten_all, reconnects
//	                        number
//	      serving           boolean, at the end of the point
//	      lag_seconds, max_lag_seconds
//	                        number, gauges at the end of the point
//	wheels                  array, sorted by name, empty if there is no timing wheel
//	  name                  string, unique among timing wheels
//	  pending               number, gauge; timers that wait for their time
//	  backlog               number, gauge; timers that are due, callbacks not begun
//	  running               number, gauge; callbacks running now
//	  tombstones            number, gauge; removed tasks the wheel has not reached yet
//	  started               number, counter; timers set, not moves
//	  removed               number, counter; timers removed before they fired
//	  fired                 number, counter; callbacks begun
//	  panics                number, counter; callbacks that panicked or called runtime.Goexit
//	  lateness_p50_seconds, lateness_p99_seconds
//	                        number, from the tick a timer was due to its callback; 0 when nothing fired
//	  history               array, the oldest point first; only if the query has points
//	    start               string, RFC 3339, which also tells points apart
//	    seconds             number, how long the point is
//	    partial             boolean, true if it is not over
//	    pending, backlog, running, tombstones
//	                        number, gauges at the end of the point
//	    started, removed, fired, panics
//	                        number
//	    lateness_p50_seconds, lateness_p99_seconds
//	                        number, 0 if fired is
//
// # Metrics
//
// The names are those of Micrometer's cache metrics, where it has one. Each metric
// of caches has the label cache. There is no gauge for the hit ratio, because a
// ratio of totals hides what happens now; ask for
//
//	sum by (cache) (rate(cache_gets_total{result="hit"}[5m]))
//	  / sum by (cache) (rate(cache_gets_total[5m]))
//
// A histogram that has counted nothing is not written.
//
// The metrics of caches are:
//
//	cache_gets_total{result="hit|miss"}                     counter
//	cache_misses_total{reason="absent|expired|evicted"}     counter
//	cache_puts_total                                        counter
//	cache_evictions_total{cause="size|expired"}             counter
//	cache_removals_total{cause="explicit|replaced|cleared"} counter
//	cache_size                                              gauge
//	cache_created_timestamp_seconds                         gauge
//	cache_hottest_key_share                                 gauge, absent without hot keys
//	cache_capacity                                          gauge, absent without a limit
//	cache_weight, cache_weight_capacity                     gauges, absent if not weighted
//	cache_loads_seconds{result="success|failure"}           histogram
//	cache_load_waiters_total                                counter
//	cache_loads_running, cache_oldest_load_seconds          gauges
//	cache_loads_queued                                      gauge
//	cache_loads_abandoned_total                             counter
//	cache_grace_hits_total                                  counter
//	cache_refreshes_total{result="success|failure|dropped|skipped"}
//	                                                        counter
//	cache_negatives                                         gauge
//	cache_callbacks_queued, cache_callbacks_running         gauges
//	cache_oldest_callback_seconds                           gauge
//	cache_callback_panics_total                             counter
//	cache_expiry_pending, cache_expiry_overdue              gauges
//	cache_expiry_tombstones                                 gauge
//	cache_expiry_lateness_seconds                           histogram
//	cache_evicted_age_seconds                               histogram
//	cache_what_if_hits_total{limit="half|same|double"}      counter, absent if not estimated
//	cache_what_if_other_policy_hits_total                   counter, absent if not estimated
//
// Only near caches have these:
//
//	cache_near_remote_hits_total                            counter
//	cache_near_fetches_total, cache_near_bypasses_total     counters
//	cache_near_waits_total, cache_near_overtaken_total      counters
//	cache_near_unserved_total, cache_near_served_on_total   counters
//	cache_near_store_errors_total                           counter
//	cache_near_changes_total                                counter
//	cache_near_forgotten_all_total                          counter
//	cache_near_reconnects_total                             counter
//	cache_near_serving                                      gauge, 1 or 0
//	cache_near_lag_seconds, cache_near_max_lag_seconds      gauges
//
// With double the limit the cache would answer about so many more gets per second:
//
//	rate(cache_what_if_hits_total{limit="double"}[1h])
//	  - ignoring(limit) rate(cache_what_if_hits_total{limit="same"}[1h])
//
// The metrics of timing wheels have the label wheel. They are:
//
//	timingwheel_pending, timingwheel_backlog       gauges
//	timingwheel_running, timingwheel_tombstones    gauges
//	timingwheel_started_total                      counter
//	timingwheel_removed_total                      counter
//	timingwheel_fired_total                        counter
//	timingwheel_panics_total                       counter
//	timingwheel_lateness_seconds                   histogram
package stats
