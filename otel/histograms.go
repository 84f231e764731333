package otelpinwheel

import (
	"context"
	"math"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// NewProducer returns a producer of the histograms of all caches and timing wheels of
// the process, also of those made later, for a reader of the provider:
//
//	metric.NewPeriodicReader(exporter, metric.WithProducer(otelpinwheel.NewProducer()))
//
// They are cumulative since the cache was made, whatever temporality the reader prefers.
// One that has counted nothing is left out. It is safe for concurrent use.
func NewProducer() metric.Producer { return producer{} }

type producer struct{}

func (producer) Produce(context.Context) ([]metricdata.ScopeMetrics, error) {
	all := append(produced(stats.Metrics[stats.Snapshot](), caches()), produced(stats.Metrics[stats.WheelSnapshot](), wheels())...)
	if len(all) == 0 {
		return nil, nil
	}
	return []metricdata.ScopeMetrics{{Scope: instrumentation.Scope{Name: scope}, Metrics: all}}, nil
}

// produced returns what the sources have of each histogram.
func produced[S any](metrics []stats.Metric[S], sources []source[S]) (all []metricdata.Metrics) {
	now := time.Now()
	for _, m := range collected(metrics) {
		if m.Kind != "histogram" {
			continue
		}
		var points []metricdata.HistogramDataPoint[float64]
		for i := range sources {
			s := &sources[i]
			for label, v := range m.Values(&s.stats, s.since) {
				h := v.(*stats.Histogram)
				if h.Count() == 0 {
					continue
				}
				p := point(h, s.since, now)
				p.Attributes = attribute.NewSet(s.name)
				if m.Attribute != "" {
					p.Attributes = attribute.NewSet(attribute.String(m.Attribute, label), s.name)
				}
				points = append(points, p)
			}
		}
		if len(points) > 0 {
			data := metricdata.Histogram[float64]{DataPoints: points, Temporality: metricdata.CumulativeTemporality}
			all = append(all, metricdata.Metrics{Name: m.Path, Description: m.Help, Unit: "s", Data: data})
		}
	}
	return all
}

// point returns a data point. Its buckets have bounds as ours do: each bound belongs to the
// bucket below it, and the last bucket has none.
func point(h *stats.Histogram, since, now time.Time) metricdata.HistogramDataPoint[float64] {
	p := metricdata.HistogramDataPoint[float64]{StartTime: since, Time: now, Sum: h.Sum().Seconds()}
	for bound, n := range h.Buckets() {
		if bound < math.MaxInt64 {
			p.Bounds = append(p.Bounds, bound.Seconds())
		}
		p.BucketCounts = append(p.BucketCounts, n)
		p.Count += n
	}
	return p
}
