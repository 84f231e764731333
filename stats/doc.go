// Package stats holds what caches and timing wheels count, and shows it.
//
// A [Snapshot] has the counts of one cache since it was made. It is a plain value: keep two,
// and [Snapshot.Minus] returns what happened in between. A [Histogram] in it holds
// durations. A [WheelSnapshot] has the counts of a timing wheel, which runs timers.
//
// Every cache and timing wheel registers itself. [Caches] and [Wheels] take a snapshot of
// each, and [Handler] serves them over HTTP. The package keeps no goroutine, and before the
// first call of Handler it computes only what it is asked for. A cache's own timing wheel is
// not registered: its counts are in the Snapshot of the cache.
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
//	/cache/metrics     the numbers of alerts in Prometheus text format 0.0.4; with ?all=1 all of them
//	/cache/purge       removes entries, with [WithOperators] only
//	/cache/tune        changes options of a cache, with [WithOperators] only
//	/cache/record      records the accesses to a cache, with [WithOperators] only
//	/cache/fleet.json  what the page shows of other instances, with [WithPeers] only
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
// than 20 seconds without a sample the history begins anew. The samples also tell what is wrong: a
// finding is shown while it goes on, and for a minute after its end. If only metrics was asked for,
// the timer only notices whether the process was stopped.
//
// The handler shows program and host, and names, settings and counts of caches and timing
// wheels. It shows keys only of a cache with the option HotKeys, and never a value. Of the last
// errors, of a load and of the store and source of a near cache, it shows the types, with [WithErrors] the texts. Without WithOperators it only
// reads. Middleware around it must decide who may see the page, as for any other handler:
//
//	http.Handle("/cache/", onlyAdmins(stats.Handler()))
//
// At a loopback address the handler answers only if the Host is localhost, a loopback
// address or a name of [WithHosts]: otherwise another site could read it by DNS rebinding.
// Only metrics, which has names and numbers, answers to any Host.
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
// changed in meaning, version changes too. A JSON Schema describes each field:
// https://github.com/pinwheel-cache/pinwheel/blob/main/docs/stats.schema.json
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
// A histogram that has counted nothing is not written. Without the query all=1 only the small
// set is: some 50 lines of a busy cache, instead of 110. Those
// that begin with pinwheel_process are of the process, and without a label.
//
// https://github.com/pinwheel-cache/pinwheel/blob/main/docs/metrics.txt lists the metrics, with
// their names in package otelpinwheel. [Metrics] has the same, for an
// exporter of your own.
//
// With double the limit the cache would answer about so many more gets per second:
//
//	rate(cache_what_if_hits_total{limit="double"}[1h])
//	  - ignoring(limit) rate(cache_what_if_hits_total{limit="same"}[1h])
package stats
