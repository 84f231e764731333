// Package prompinwheel has a collector of the statistics of all caches and timing wheels of the
// process, for Prometheus' client library:
//
//	prometheus.MustRegister(prompinwheel.NewCollector())
//
// The metrics are those that package stats serves at /metrics, so a service needs only
// one of the two. A go-zero service calls MustRegister of module gozero instead.
package prompinwheel
