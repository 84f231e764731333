// Package otelpinwheel registers the statistics of all caches and timing wheels of the
// process with OpenTelemetry:
//
//	registration, err := otelpinwheel.Register(otel.GetMeterProvider())
//
// This registers counters and gauges. Histograms come from [NewProducer], an option of a
// reader. The statistics are those that package stats serves at /metrics, so a service needs
// only one of the two. Nothing is computed until a reader collects.
//
// The package is not called otel, as a program that imports it also imports OpenTelemetry's
// package otel.
//
// # Names
//
// OpenTelemetry's semantic conventions have no metrics for caches; the names follow their
// rules: they begin with the name of the library; the name of a counter is in the plural,
// and its unit, one of UCUM, in the singular; no name ends in total. A level is an
// UpDownCounter: its sum over all caches has a meaning, that of a gauge has none. Each
// metric of caches has the attribute pinwheel.cache.name, which is unique in the process.
// On the right are the names at /metrics.
//
//	pinwheel.cache.gets                       {get}       counter  cache_gets_total
//	  pinwheel.cache.get.result=hit|miss
//	pinwheel.cache.misses                     {miss}      counter  cache_misses_total
//	  pinwheel.cache.miss.reason=absent|expired|evicted
//	pinwheel.cache.puts                       {put}       counter  cache_puts_total
//	pinwheel.cache.restores                   {entry}     counter
//	pinwheel.cache.evictions                  {eviction}  counter  cache_evictions_total
//	  pinwheel.cache.eviction.cause=size|expired
//	pinwheel.cache.removals                   {removal}   counter  cache_removals_total
//	  pinwheel.cache.removal.cause=explicit|replaced|cleared
//	pinwheel.cache.entry.count                {entry}     level    cache_size
//	pinwheel.cache.entry.limit                {entry}     level    cache_capacity
//	pinwheel.cache.weight.usage               {weight}    level    cache_weight
//	pinwheel.cache.weight.limit               {weight}    level    cache_weight_capacity
//	pinwheel.cache.uptime                     s           gauge    cache_created_timestamp_seconds
//	pinwheel.cache.hottest_key.share          1           gauge    cache_hottest_key_share
//	pinwheel.cache.load.waiters               {caller}    counter  cache_load_waiters_total
//	pinwheel.cache.load.abandoned             {caller}    counter  cache_loads_abandoned_total
//	pinwheel.cache.load.running               {load}      level    cache_loads_running
//	pinwheel.cache.load.queued                {load}      level    cache_loads_queued
//	pinwheel.cache.load.oldest_age            s           gauge    cache_oldest_load_seconds
//	pinwheel.cache.grace.hits                 {hit}       counter  cache_grace_hits_total
//	pinwheel.cache.refreshes                  {refresh}   counter  cache_refreshes_total
//	  pinwheel.cache.refresh.result=success|failure|dropped|skipped
//	pinwheel.cache.negative.count             {error}     level    cache_negatives
//	pinwheel.cache.callback.queued            {callback}  level    cache_callbacks_queued
//	pinwheel.cache.callback.running           {callback}  level    cache_callbacks_running
//	pinwheel.cache.callback.oldest_age        s           gauge    cache_oldest_callback_seconds
//	pinwheel.cache.callback.panics            {panic}     counter  cache_callback_panics_total
//	pinwheel.cache.expiry.pending             {entry}     level    cache_expiry_pending
//	pinwheel.cache.expiry.overdue             {entry}     level    cache_expiry_overdue
//	pinwheel.cache.expiry.tombstone.count     {task}      level    cache_expiry_tombstones
//	pinwheel.cache.what_if.hits               {hit}       counter  cache_what_if_hits_total
//	  pinwheel.cache.what_if.limit=half|same|double
//	pinwheel.cache.what_if.other_policy.hits  {hit}       counter  cache_what_if_other_policy_hits_total
//	pinwheel.cache.near.remote_hits           {hit}       counter  cache_near_remote_hits_total
//	pinwheel.cache.near.fetches               {fetch}     counter  cache_near_fetches_total
//	pinwheel.cache.near.bypasses              {fetch}     counter  cache_near_bypasses_total
//	pinwheel.cache.near.waits                 {load}      counter  cache_near_waits_total
//	pinwheel.cache.near.overtaken             {value}     counter  cache_near_overtaken_total
//	pinwheel.cache.near.unserved              {get}       counter  cache_near_unserved_total
//	pinwheel.cache.near.served_on             {get}       counter  cache_near_served_on_total
//	pinwheel.cache.near.store.errors          {error}     counter  cache_near_store_errors_total
//	pinwheel.cache.near.changes               {key}       counter  cache_near_changes_total
//	pinwheel.cache.near.forgotten_all         {time}      counter  cache_near_forgotten_all_total
//	pinwheel.cache.near.reconnects            {connection} counter  cache_near_reconnects_total
//	pinwheel.cache.near.serving               {cache}     level    cache_near_serving
//	pinwheel.cache.near.lag                   s           gauge    cache_near_lag_seconds
//	pinwheel.cache.near.max_lag               s           gauge    cache_near_max_lag_seconds
//	pinwheel.cache.load.duration.count        {load}      counter  cache_loads_seconds_count
//	pinwheel.cache.load.duration.sum          s           counter  cache_loads_seconds_sum
//	  pinwheel.cache.load.result=success|failure
//	pinwheel.cache.expiry.lateness.count      {entry}     counter  cache_expiry_lateness_seconds_count
//	pinwheel.cache.expiry.lateness.sum        s           counter  cache_expiry_lateness_seconds_sum
//	pinwheel.cache.eviction.age.count         {entry}     counter  cache_evicted_age_seconds_count
//	pinwheel.cache.eviction.age.sum           s           counter  cache_evicted_age_seconds_sum
//
// A cache lacks the metrics of what it does not have: a limit, weights, hot keys, estimates,
// package near. Each metric of timing wheels has the attribute pinwheel.timingwheel.name.
//
//	pinwheel.timingwheel.timer.pending        {timer}     level    timingwheel_pending
//	pinwheel.timingwheel.timer.backlog        {timer}     level    timingwheel_backlog
//	pinwheel.timingwheel.timer.started        {timer}     counter  timingwheel_started_total
//	pinwheel.timingwheel.timer.removed        {timer}     counter  timingwheel_removed_total
//	pinwheel.timingwheel.timer.fired          {timer}     counter  timingwheel_fired_total
//	pinwheel.timingwheel.callback.running     {callback}  level    timingwheel_running
//	pinwheel.timingwheel.callback.panics      {panic}     counter  timingwheel_panics_total
//	pinwheel.timingwheel.tombstone.count      {task}      level    timingwheel_tombstones
//	pinwheel.timingwheel.lateness.count       {timer}     counter  timingwheel_lateness_seconds_count
//	pinwheel.timingwheel.lateness.sum         s           counter  timingwheel_lateness_seconds_sum
//
// # Histograms
//
// OpenTelemetry has no observable histogram; with another kind every load would be recorded
// twice. So the count and the sum of each histogram are counters, as above, which are enough
// for rates and means. The histograms themselves come from [NewProducer], which hands them
// to a reader. Rejected: quantiles as gauges, which cover all time and cannot be combined
// over instances, and buckets as counters, which no backend reads as a histogram. The
// histograms are
//
//	pinwheel.cache.load.duration              s           cache_loads_seconds
//	pinwheel.cache.expiry.lateness            s           cache_expiry_lateness_seconds
//	pinwheel.cache.eviction.age               s           cache_evicted_age_seconds
//	pinwheel.timingwheel.lateness             s           timingwheel_lateness_seconds
//
// # Cardinality
//
// A metric has a series for each cache and value of its other attribute: at most 4,000 for
// 1,000 caches. A provider with a lower cardinality limit combines the rest.
package otelpinwheel
