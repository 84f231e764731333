// Package stats holds what caches and timing wheels count, and shows it.
//
// A [Snapshot] is what one cache has done since it was made. It is a plain
// value: keep two, and [Snapshot.Minus] tells what happened in between. A
// [Histogram] is the part of it that holds durations, and [Durations] is the
// concurrent recorder behind a Histogram. A [Wheel] is to a timing wheel, which
// runs timers, what a Snapshot is to a cache.
//
// Every cache enters itself with [Register]. [All] takes a Snapshot of each,
// and [Handler] serves them over HTTP. The package knows nothing of the caches
// but a function that takes a Snapshot, and it starts no goroutine: nothing is
// computed until somebody looks. Timing wheels have [RegisterWheel] and
// [AllWheels], and the same Handler. The wheel that expires the entries of a cache
// is not one of them: it is in the Snapshot of the cache.
//
// # What Handler serves
//
// One handler serves all caches and timing wheels of the process, below any path:
//
//	http.Handle("/cache/", stats.Handler())
//
// It looks at the last element of the path only, so [http.StripPrefix] is
// allowed and not needed, and its links are relative, so a proxy may put it
// below yet another path. Mount it at a path that ends in a slash.
//
//	/cache/            a page for people, which reloads itself every 5 seconds
//	/cache/stats.json  the same numbers as JSON
//	/cache/metrics     the same numbers in Prometheus text format 0.0.4
//
// It only reads, and it shows counts and the names of caches and timing wheels,
// never a key or a value. Who may see them is for the middleware around it to
// decide.
//
// # JSON
//
// All counters are cumulative since the cache or timing wheel was made, all
// durations are in seconds, and every field is always there. A field may be added;
// one that is renamed, removed or changed in meaning also changes version.
//
//	version                 number, 1
//	time                    string, RFC 3339, when the numbers were taken
//	caches                  array, sorted by name, empty if there is no cache
//	  name                  string, unique among caches
//	  hits, misses          number, counters; their sum is the number of gets
//	  hit_ratio             number, 0 to 1; 0 when nothing was asked for yet
//	  misses_expired        number, counter; of misses, those that found an entry past its deadline
//	  sets                  number, counter; values stored
//	  entries, limit        number, gauges; limit 0 means none
//	  weight, max_weight    number, gauges; max_weight 0 means the cache is not weighted
//	  removals              object, counters by cause:
//	    expired, evicted, deleted, replaced, cleared
//	  loads                 object
//	    ok, failed          number, counters; loads that ended so
//	    waiters             number, counter; callers that joined the load of another
//	    mean_seconds, p50_seconds, p99_seconds
//	                        number, of all loads, ok and failed; 0 when there was none
//	  callbacks             object
//	    queued              number, gauge
//	    panics              number, counter
//	  expiry                object
//	    pending, tombstones number, gauges
//	    lateness_p50_seconds, lateness_p99_seconds
//	                        number, from the deadline to the removal; 0 when nothing expired
//	wheels                  array, sorted by name, empty if there is no timing wheel
//	  name                  string, unique among timing wheels
//	  pending               number, gauge; timers that wait for their time
//	  backlog               number, gauge; timers that are due, callbacks not begun
//	  running               number, gauge; callbacks running now
//	  tombstones            number, gauge; removed tasks the wheel has not come by yet
//	  started               number, counter; timers set, not moves
//	  removed               number, counter; timers removed before they fired
//	  fired                 number, counter; callbacks begun
//	  panics                number, counter; callbacks that panicked or called runtime.Goexit
//	  lateness_p50_seconds, lateness_p99_seconds
//	                        number, from the tick a timer was due to its callback; 0 when nothing fired
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
// The metrics of caches are:
//
//	cache_gets_total{result="hit|miss"}                     counter
//	cache_misses_total{reason="absent|expired"}             counter
//	cache_puts_total                                        counter
//	cache_evictions_total{cause="size|expired"}             counter
//	cache_removals_total{cause="explicit|replaced|cleared"} counter
//	cache_size                                              gauge
//	cache_capacity                                          gauge, absent without a limit
//	cache_weight, cache_weight_capacity                     gauges, absent if not weighted
//	cache_loads_seconds{result="success|failure"}           histogram
//	cache_load_waiters_total                                counter
//	cache_callbacks_queued                                  gauge
//	cache_callback_panics_total                             counter
//	cache_expiry_pending, cache_expiry_tombstones           gauges
//	cache_expiry_lateness_seconds                           histogram
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
