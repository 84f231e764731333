package gozero

import (
	"iter"
	"math"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// MustRegister registers a [NewCollector] with Prometheus' default registry, which
// go-zero's DevServer serves, by default at :6060/metrics. Calling it again does
// nothing. It panics if the registry has another such collector. It is safe for
// concurrent use.
func MustRegister() { registerOnce() }

var registerOnce = sync.OnceFunc(func() { prometheus.MustRegister(NewCollector()) })

// NewCollector returns a collector of the metrics of all caches and timing wheels
// of the process, also of those made later. The metrics are those that [stats.Handler]
// serves, with the same names, labels, help texts, buckets and values; package stats
// lists them. A registry accepts only one such collector. A collector is safe for
// concurrent use.
func NewCollector() prometheus.Collector { return collector{} }

type collector struct{}

func (collector) Describe(descs chan<- *prometheus.Desc) {
	for _, f := range cacheFamilies {
		descs <- f.desc
	}
	for _, f := range wheelFamilies {
		descs <- f.desc
	}
}

func (collector) Collect(metrics chan<- prometheus.Metric) {
	for _, c := range stats.Caches() {
		for _, f := range cacheFamilies {
			f.collect(sink{metrics, f.desc, c.Name, c.Since}, c.Snapshot)
		}
	}
	for _, w := range stats.Wheels() {
		for _, f := range wheelFamilies {
			f.collect(sink{metrics, f.desc, w.Name, w.Since}, w.Snapshot)
		}
	}
}

// A sink takes the samples of one metric of one cache or timing wheel. Its methods
// take the value of the second label, if the metric has one.
type sink struct {
	metrics chan<- prometheus.Metric
	desc    *prometheus.Desc
	source  string
	since   time.Time // when the source was made
}

func (s sink) counter(v uint64, label ...string) {
	s.metrics <- prometheus.MustNewConstMetric(s.desc, prometheus.CounterValue, float64(v), s.labels(label)...)
}

func (s sink) gauge(v float64) {
	s.metrics <- prometheus.MustNewConstMetric(s.desc, prometheus.GaugeValue, v, s.source)
}

// histogram takes a [stats.Histogram] or [stats.Ages], and skips an empty one. Buckets
// of Prometheus are cumulative, and the last bucket has no bound.
func (s sink) histogram(h interface {
	Buckets() iter.Seq2[time.Duration, uint64]
	Count() uint64
	Sum() time.Duration
}, label ...string) {
	if h.Count() == 0 {
		return
	}
	buckets := make(map[float64]uint64)
	var below uint64
	for bound, n := range h.Buckets() {
		below += n
		if bound < math.MaxInt64 {
			buckets[bound.Seconds()] = below
		}
	}
	s.metrics <- prometheus.MustNewConstHistogram(s.desc, below, h.Sum().Seconds(), buckets, s.labels(label)...)
}

func (s sink) labels(label []string) []string { return append([]string{s.source}, label...) }
