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
// Each of timing wheels has pinwheel.timingwheel.name. The metrics, beside their names at
// /metrics, are in https://github.com/pinwheel-cache/pinwheel/blob/main/docs/metrics.txt.
//
// # Histograms
//
// OpenTelemetry has no observable histogram; with another kind every load would be recorded
// twice. So of each histogram NAME there are two counters, NAME.count and NAME.sum, which are
// enough for rates and means. The histograms themselves come from [NewProducer], which hands them
// to a reader. Rejected: quantiles as gauges, which cover all time and cannot be combined
// over instances, and buckets as counters, which no backend reads as a histogram.
//
// # Traces
//
// [NewTracer] makes spans of what callers of near caches wait for.
//
// # Cardinality
//
// A metric has a series for each cache and value of its other attribute: at most 4,000 for
// 1,000 caches. A provider with a lower cardinality limit combines the rest.
package otelpinwheel
