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
// Handler it computes only what it is asked for. A cache's own timing wheel is not registered:
// its counts are in the Snapshot of the cache.
//
// # What Handler serves
//
// One handler serves all caches and timing wheels of the process, below any path:
//
//	http.Handle("/cache/", stats.Handler())
//
// It looks at the last element of the path, so [http.StripPrefix] is not needed, and
// its links are relative, so a proxy may add a prefix. Mount it at a path that ends in a
// slash. No other element may begin with the name of a file, such as metrics, unless
// http.ServeMux has that path. So a proxy may open all paths that begin with /cache/metrics:
// they show nothing else.
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
// The charts show five minutes. So from the first request for stats.json on, as by the page, a
// timer takes a Snapshot of each cache and timing wheel every 5 seconds, and the last 60 points,
// or fewer of very many caches, are kept in memory. A program that wants them from its start asks
// for stats.json then. A cache that is made later has points from its registration on. After more
// than 20 seconds without a sample the history begins anew.
//
// The handler shows program and host, and names, settings and counts of caches and timing
// wheels. It shows keys only of a cache with the option HotKeys, and never a value. Of the last
// errors, of a load and of the store and source of a near cache, it shows the types, with [WithErrors] the texts. Without WithPurge it only
// reads. Middleware around it must decide who may see the page, as for any other handler:
//
//	http.Handle("/cache/", onlyAdmins(stats.Handler()))
//
// At a loopback address the handler answers only if the Host is localhost, a loopback
// address or a name of [WithHosts]: otherwise another site could read it by DNS rebinding.
// Only metrics, which has names and numbers, answers to any Host.
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
// but history is always there. A field may be added. Where a field is renamed, removed or
// changed in meaning, version changes too. docs/stats.schema.json, a JSON
// Schema, describes each field.
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
// The list has the name of each metric, its kind, its name, unit and attribute in package
// otelpinwheel, and what it counts. A level is a gauge whose sum over all caches has a
// meaning. A cache has metrics of a limit, weights, hot keys, estimates and package near only
// if it has these. "go test ./stats -update" writes the list.
//
// The metrics of caches are:
//
//	cache_gets_total{result=hit|miss} counter
//	  pinwheel.cache.gets{pinwheel.cache.get.result=hit|miss}, in {get}
//	    Lookups, by whether they found a value.
//	cache_misses_total{reason=absent|expired|evicted} counter
//	  pinwheel.cache.misses{pinwheel.cache.miss.reason=absent|expired|evicted}, in {miss}
//	    Lookups that found no value, by what became of the key recently: expired, evicted, or neither.
//	cache_puts_total counter
//	  pinwheel.cache.puts, in {put}
//	    Values stored.
//	cache_restores_total counter
//	  pinwheel.cache.restores, in {entry}
//	    Values that came from a snapshot.
//	cache_evictions_total{cause=size|expired} counter
//	  pinwheel.cache.evictions{pinwheel.cache.eviction.cause=size|expired}, in {eviction}
//	    Values the cache removed, because it was full or their deadline had passed.
//	cache_removals_total{cause=explicit|replaced|cleared} counter
//	  pinwheel.cache.removals{pinwheel.cache.removal.cause=explicit|replaced|cleared}, in {removal}
//	    Values the program removed.
//	cache_size level
//	  pinwheel.cache.entry.count, in {entry}
//	    Entries now.
//	cache_capacity level
//	  pinwheel.cache.entry.limit, in {entry}
//	    Most entries.
//	cache_weight level
//	  pinwheel.cache.weight.usage, in {weight}
//	    Weight of all entries now.
//	cache_weight_capacity level
//	  pinwheel.cache.weight.limit, in {weight}
//	    Most weight.
//	cache_created_timestamp_seconds gauge
//	  -, in s
//	    When the cache was made, since 1970.
//	- gauge
//	  pinwheel.cache.uptime, in s
//	    How long ago the cache was made.
//	cache_hottest_key_share gauge
//	  pinwheel.cache.hottest_key.share, in 1
//	    Share of the hottest key in recent lookups: a lower bound.
//	cache_loads_seconds{result=success|failure} histogram
//	  pinwheel.cache.load.duration{pinwheel.cache.load.result=success|failure}, in {load}
//	    How long loads took, by result.
//	cache_load_waiters_total counter
//	  pinwheel.cache.load.waiters, in {caller}
//	    Callers that joined the load of another caller.
//	cache_loads_running level
//	  pinwheel.cache.load.running, in {load}
//	    Loads that have not ended.
//	cache_oldest_load_seconds gauge
//	  pinwheel.cache.load.oldest_age, in s
//	    How long the oldest running load has run; 0 if there is none.
//	cache_loads_abandoned_total counter
//	  pinwheel.cache.load.abandoned, in {caller}
//	    Callers that gave up before their load had ended.
//	cache_loads_queued level
//	  pinwheel.cache.load.queued, in {load}
//	    Loads that wait for a permit of MaxLoads.
//	cache_grace_hits_total counter
//	  pinwheel.cache.grace.hits, in {hit}
//	    Lookups answered by a value past its deadline.
//	cache_refreshes_total{result=success|failure|dropped|skipped} counter
//	  pinwheel.cache.refreshes{pinwheel.cache.refresh.result=success|failure|dropped|skipped}, in {refresh}
//	    Loads of keys that had a value, by result.
//	cache_negatives level
//	  pinwheel.cache.negative.count, in {error}
//	    Errors of loads that Negative stores.
//	cache_callbacks_queued level
//	  pinwheel.cache.callback.queued, in {callback}
//	    Removal callbacks that have not begun yet.
//	cache_callbacks_running level
//	  pinwheel.cache.callback.running, in {callback}
//	    Removal callbacks running now.
//	cache_oldest_callback_seconds gauge
//	  pinwheel.cache.callback.oldest_age, in s
//	    How long the oldest running removal callback has run; 0 if there is none.
//	cache_callback_panics_total counter
//	  pinwheel.cache.callback.panics, in {panic}
//	    Removal callbacks that panicked.
//	cache_expiry_pending level
//	  pinwheel.cache.expiry.pending, in {entry}
//	    Entries with a deadline.
//	cache_expiry_overdue level
//	  pinwheel.cache.expiry.overdue, in {entry}
//	    Entries past their deadline whose removal is late.
//	cache_expiry_tombstones level
//	  pinwheel.cache.expiry.tombstone.count, in {task}
//	    Removed tasks the timing wheel has not reached yet.
//	cache_expiry_lateness_seconds histogram
//	  pinwheel.cache.expiry.lateness, in {entry}
//	    Time from the deadline of an entry to its removal.
//	cache_evicted_age_seconds histogram
//	  pinwheel.cache.eviction.age, in {entry}
//	    Age of values when they were evicted because the cache was full.
//	cache_what_if_hits_total{limit=half|same|double} counter
//	  pinwheel.cache.what_if.hits{pinwheel.cache.what_if.limit=half|same|double}, in {hit}
//	    Estimated hits with half the limit, the same or double, by a sample of the keys.
//	cache_what_if_other_policy_hits_total counter
//	  pinwheel.cache.what_if.other_policy.hits, in {hit}
//	    Estimated hits with the same limit and the other policy of eviction, by a sample of the keys.
//	cache_near_remote_hits_total counter
//	  pinwheel.cache.near.remote_hits, in {hit}
//	    Answers of the store of a near cache: values, and "not found".
//	cache_near_fetches_total counter
//	  pinwheel.cache.near.fetches, in {fetch}
//	    Keys fetched because the store of a near cache did not have them.
//	cache_near_bypasses_total counter
//	  pinwheel.cache.near.bypasses, in {fetch}
//	    Fetches while the store of a near cache could not be asked.
//	cache_near_waits_total counter
//	  pinwheel.cache.near.waits, in {load}
//	    Loads of a near cache that waited for another load, mostly of another instance.
//	cache_near_overtaken_total counter
//	  pinwheel.cache.near.overtaken, in {value}
//	    Values that a near cache fetched and did not store, as their key changed meanwhile.
//	cache_near_unserved_total counter
//	  pinwheel.cache.near.unserved, in {key}
//	    Keys that a near cache loaded while its source had not confirmed that memory was up to date.
//	cache_near_served_on_total counter
//	  pinwheel.cache.near.served_on, in {load}
//	    Loads of a near cache that ended with an older value, as the store could not be asked.
//	cache_near_store_errors_total counter
//	  pinwheel.cache.near.store.errors, in {error}
//	    Calls of the store of a near cache that failed.
//	cache_near_undecodable_total counter
//	  pinwheel.cache.near.undecodable, in {value}
//	    Values of the store of a near cache that could not be decoded.
//	cache_near_unasked_total counter
//	  pinwheel.cache.near.unasked, in {read}
//	    Reads that a near cache did not try, as the last calls of its store had failed.
//	cache_near_changes_total counter
//	  pinwheel.cache.near.changes, in {key}
//	    Keys that the source of a near cache reported as changed.
//	cache_near_forgotten_all_total counter
//	  pinwheel.cache.near.forgotten_all, in {time}
//	    Reports by the source of a near cache that any key may have changed.
//	cache_near_reconnects_total counter
//	  pinwheel.cache.near.reconnects, in {connection}
//	    Lost connections of the source of a near cache.
//	cache_near_serving level
//	  pinwheel.cache.near.serving, in {cache}
//	    1 if a near cache keeps values until its source reports a change, 0 if for MaxLag only.
//	cache_near_partial level
//	  pinwheel.cache.near.partial, in {cache}
//	    1 if the source of a near cache reports some changes late or not at all, else 0.
//	cache_near_lag_seconds gauge
//	  pinwheel.cache.near.lag, in s
//	    Time since the moment up to which the source of a near cache has confirmed all changes.
//	cache_near_behind_seconds gauge
//	  pinwheel.cache.near.behind, in s
//	    Age of the moment up to which the source of a near cache has confirmed all changes, when it did so.
//	cache_near_max_lag_seconds gauge
//	  pinwheel.cache.near.max_lag, in s
//	    The lag above which a near cache keeps values for that long only.
//
// With double the limit the cache would answer about so many more gets per second:
//
//	rate(cache_what_if_hits_total{limit="double"}[1h])
//	  - ignoring(limit) rate(cache_what_if_hits_total{limit="same"}[1h])
//
// The metrics of timing wheels have the label wheel. They are:
//
//	timingwheel_pending level
//	  pinwheel.timingwheel.timer.pending, in {timer}
//	    Timers that wait for their time.
//	timingwheel_backlog level
//	  pinwheel.timingwheel.timer.backlog, in {timer}
//	    Due timers whose callbacks have not begun yet.
//	timingwheel_running level
//	  pinwheel.timingwheel.callback.running, in {callback}
//	    Callbacks running now.
//	timingwheel_tombstones level
//	  pinwheel.timingwheel.tombstone.count, in {task}
//	    Removed tasks the timing wheel has not reached yet.
//	timingwheel_started_total counter
//	  pinwheel.timingwheel.timer.started, in {timer}
//	    Timers set.
//	timingwheel_moved_total counter
//	  pinwheel.timingwheel.timer.moved, in {timer}
//	    Timers that got another time, but for Resets to a later one.
//	timingwheel_visits_total counter
//	  pinwheel.timingwheel.visit, in {visit}
//	    Timers and tombstones that the timing wheel has come by.
//	timingwheel_relinks_total counter
//	  pinwheel.timingwheel.relink, in {timer}
//	    Timers put into another slot of the timing wheel.
//	timingwheel_refused_total counter
//	  pinwheel.timingwheel.timer.refused, in {timer}
//	    Timers that were not set, as the timing wheel was full.
//	timingwheel_removed_total counter
//	  pinwheel.timingwheel.timer.removed, in {timer}
//	    Timers removed before they fired.
//	timingwheel_fired_total counter
//	  pinwheel.timingwheel.timer.fired, in {timer}
//	    Callbacks begun.
//	timingwheel_panics_total counter
//	  pinwheel.timingwheel.callback.panics, in {panic}
//	    Callbacks that panicked or ended their goroutine.
//	timingwheel_lateness_seconds histogram
//	  pinwheel.timingwheel.lateness, in {timer}
//	    Time from the tick at which a timer was due to its callback.
package stats
