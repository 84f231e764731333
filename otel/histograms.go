package otelpinwheel

import (
	"context"
	"iter"
	"math"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// A histogram is the metric of a stats.Histogram or stats.Ages.
type histogram[S any] struct {
	name, unit, description string // unit is that of what is counted
	each                    func(s *S) []counted
}

// counted are times, with the attributes that distinguish them within the metric.
type counted struct {
	attributes []attribute.KeyValue
	times      interface { // a [stats.Histogram] or [stats.Ages]
		Buckets() iter.Seq2[time.Duration, uint64]
		Count() uint64
		Sum() time.Duration
	}
}

var cacheHistograms = []histogram[stats.Snapshot]{
	{"pinwheel.cache.load.duration", "{load}", "How long loads took, by result.",
		func(s *stats.Snapshot) []counted {
			return []counted{
				{[]attribute.KeyValue{loadResult.String("success")}, &s.Loads.OK},
				{[]attribute.KeyValue{loadResult.String("failure")}, &s.Loads.Failed},
			}
		}},
	{"pinwheel.cache.expiry.lateness", "{entry}", "How long after its deadline an expired entry was removed.",
		func(s *stats.Snapshot) []counted { return []counted{{nil, &s.Expiry.Lateness}} }},
	{"pinwheel.cache.eviction.age", "{entry}", "How long ago a value had been stored when it was evicted because the cache was full.",
		func(s *stats.Snapshot) []counted { return []counted{{nil, &s.EvictedAge}} }},
}

var wheelHistograms = []histogram[stats.WheelSnapshot]{
	{"pinwheel.timingwheel.lateness", "{timer}", "How long after its timer was due a callback began.",
		func(w *stats.WheelSnapshot) []counted { return []counted{{nil, &w.Lateness}} }},
}

// count returns the metric of the number of times in a histogram.
func (h histogram[S]) count() family[S] {
	return family[S]{counter, h.name + ".count", h.unit, h.description + " This is their number.", func(to *sink, s *S) {
		for _, c := range h.each(s) {
			to.count(c.times.Count(), c.attributes...)
		}
	}}
}

// sum returns the metric of the sum of the times.
func (h histogram[S]) sum() family[S] {
	return family[S]{total, h.name + ".sum", "s", h.description + " This is their sum.", func(to *sink, s *S) {
		for _, c := range h.each(s) {
			to.value(c.times.Sum().Seconds(), c.attributes...)
		}
	}}
}

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
	all := append(produced(cacheHistograms, caches()), produced(wheelHistograms, wheels())...)
	if len(all) == 0 {
		return nil, nil
	}
	return []metricdata.ScopeMetrics{{Scope: instrumentation.Scope{Name: scope}, Metrics: all}}, nil
}

// produced returns what the sources have of each histogram.
func produced[S any](histograms []histogram[S], sources []source[S]) (all []metricdata.Metrics) {
	now := time.Now()
	for _, h := range histograms {
		var points []metricdata.HistogramDataPoint[float64]
		for i := range sources {
			s := &sources[i]
			for _, c := range h.each(&s.stats) {
				if c.times.Count() > 0 {
					points = append(points, point(c, s.name, s.since, now))
				}
			}
		}
		if len(points) > 0 {
			data := metricdata.Histogram[float64]{DataPoints: points, Temporality: metricdata.CumulativeTemporality}
			all = append(all, metricdata.Metrics{Name: h.name, Description: h.description, Unit: "s", Data: data})
		}
	}
	return all
}

// point returns a data point. Its buckets have bounds as ours do, each of which belongs
// to the bucket below it, and the last has none.
func point(c counted, name attribute.KeyValue, since, now time.Time) metricdata.HistogramDataPoint[float64] {
	p := metricdata.HistogramDataPoint[float64]{
		Attributes: attribute.NewSet(append(c.attributes, name)...),
		StartTime:  since,
		Time:       now,
		Sum:        c.times.Sum().Seconds(),
	}
	for bound, n := range c.times.Buckets() {
		if bound < math.MaxInt64 {
			p.Bounds = append(p.Bounds, bound.Seconds())
		}
		p.BucketCounts = append(p.BucketCounts, n)
		p.Count += n
	}
	return p
}
