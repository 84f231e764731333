package prompinwheel

import (
	"math"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// NewCollector returns a collector of the metrics of all caches and timing wheels
// of the process, also of those made later. The metrics are those that [stats.Handler]
// serves, with the same names, labels, help texts, buckets and values:
// https://github.com/pinwheel-cache/pinwheel/blob/main/docs/metrics.txt lists them. A registry
// accepts only one such collector. A collector is safe for concurrent use.
func NewCollector() prometheus.Collector {
	return collector{described("cache", stats.Metrics[stats.Snapshot]()), described("wheel", stats.Metrics[stats.WheelSnapshot]())}
}

type collector struct {
	caches []metric[stats.Snapshot]
	wheels []metric[stats.WheelSnapshot]
}

// A metric is one of package stats with its description for Prometheus' library.
type metric[S any] struct {
	stats.Metric[S]
	desc *prometheus.Desc
}

// described returns the metrics that Prometheus gets. The label by has the name of the cache
// or wheel.
func described[S any](by string, metrics []stats.Metric[S]) (all []metric[S]) {
	for _, m := range metrics {
		if m.Name == "" {
			continue
		}
		labels := []string{by}
		if m.Attribute != "" {
			labels = append(labels, m.Attribute[strings.LastIndexByte(m.Attribute, '.')+1:])
		}
		all = append(all, metric[S]{m, prometheus.NewDesc(m.Name, m.Help, labels, nil)})
	}
	return all
}

func (c collector) Describe(descs chan<- *prometheus.Desc) {
	for i := range c.caches {
		descs <- c.caches[i].desc
	}
	for i := range c.wheels {
		descs <- c.wheels[i].desc
	}
}

func (c collector) Collect(to chan<- prometheus.Metric) {
	for _, source := range stats.Caches() {
		for i := range c.caches {
			c.caches[i].collect(to, source.Name, source.Since, &source.Snapshot)
		}
	}
	for _, source := range stats.Wheels() {
		for i := range c.wheels {
			c.wheels[i].collect(to, source.Name, source.Since, &source.Snapshot)
		}
	}
}

// collect sends the samples of one cache or wheel. An empty histogram is not sent.
func (m *metric[S]) collect(to chan<- prometheus.Metric, name string, since time.Time, s *S) {
	for label, v := range m.Values(s, since) {
		labels := []string{name}
		if m.Attribute != "" {
			labels = append(labels, label)
		}
		switch v := v.(type) {
		case uint64:
			kind := prometheus.GaugeValue
			if m.Kind == "counter" {
				kind = prometheus.CounterValue
			}
			to <- prometheus.MustNewConstMetric(m.desc, kind, float64(v), labels...)
		case float64:
			to <- prometheus.MustNewConstMetric(m.desc, prometheus.GaugeValue, v, labels...)
		case *stats.Histogram:
			if count, buckets := cumulative(v); count > 0 {
				to <- prometheus.MustNewConstHistogram(m.desc, count, v.Sum().Seconds(), buckets, labels...)
			}
		}
	}
}

// cumulative returns the buckets of a histogram as Prometheus wants them: each counts what is
// below its bound too, and the last, which has no bound, is left out.
func cumulative(h *stats.Histogram) (count uint64, buckets map[float64]uint64) {
	buckets = make(map[float64]uint64)
	for bound, n := range h.Buckets() {
		count += n
		if bound < math.MaxInt64 {
			buckets[bound.Seconds()] = count
		}
	}
	return count, buckets
}
