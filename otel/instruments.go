package otelpinwheel

import (
	"fmt"
	"math"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/pinwheel-cache/pinwheel/stats"
)

const (
	cacheName = attribute.Key("pinwheel.cache.name")
	wheelName = attribute.Key("pinwheel.timingwheel.name")
)

// A source is a cache or a timing wheel, with its snapshot.
type source[S any] struct {
	name  attribute.KeyValue
	since time.Time // when it was made
	stats S
}

func caches() []source[stats.Snapshot] { return sources(cacheName, stats.Caches()) }

func wheels() []source[stats.WheelSnapshot] { return sources(wheelName, stats.Wheels()) }

func sources[S any](name attribute.Key, named []stats.Named[S]) []source[S] {
	all := make([]source[S], len(named))
	for i, n := range named {
		all[i] = source[S]{name.String(n.Name), n.Since, n.Snapshot}
	}
	return all
}

// collected returns the metrics that OpenTelemetry gets.
func collected[S any](metrics []stats.Metric[S]) (all []stats.Metric[S]) {
	for _, m := range metrics {
		if m.Path != "" {
			all = append(all, m)
		}
	}
	return all
}

// An instrument is what a meter has made for a metric. A counter or level has whole alone, a
// gauge real alone. A histogram has both: the number of its durations, and their sum.
type instrument[S any] struct {
	stats.Metric[S]
	whole metric.Int64Observable
	real  metric.Float64Observable
}

func instruments[S any](meter metric.Meter, metrics []stats.Metric[S]) (all []instrument[S], err error) {
	for _, m := range collected(metrics) {
		made := instrument[S]{Metric: m}
		unit, description := metric.WithUnit(m.Unit), metric.WithDescription(m.Help)
		switch m.Kind {
		case "counter":
			made.whole, err = meter.Int64ObservableCounter(m.Path, unit, description)
		case "level":
			made.whole, err = meter.Int64ObservableUpDownCounter(m.Path, unit, description)
		case "gauge":
			made.real, err = meter.Float64ObservableGauge(m.Path, unit, description)
		case "histogram":
			made.whole, err = meter.Int64ObservableCounter(m.Path+".count", unit, metric.WithDescription(m.Help+" This is their number."))
			if err == nil {
				made.real, err = meter.Float64ObservableCounter(m.Path+".sum", metric.WithUnit("s"), metric.WithDescription(m.Help+" This is their sum."))
			}
		}
		if err != nil {
			return nil, fmt.Errorf("otelpinwheel: the instrument %s: %w", m.Path, err)
		}
		all = append(all, made)
	}
	return all, nil
}

func observables[S any](instruments []instrument[S]) (all []metric.Observable) {
	for _, i := range instruments {
		if i.whole != nil {
			all = append(all, i.whole)
		}
		if i.real != nil {
			all = append(all, i.real)
		}
	}
	return all
}

func observe[S any](to metric.Observer, instruments []instrument[S], sources []source[S]) {
	for i := range sources {
		s := &sources[i]
		named := []metric.ObserveOption{metric.WithAttributeSet(attribute.NewSet(s.name))}
		for j := range instruments {
			instruments[j].observe(to, s, named)
		}
	}
}

// observe passes the values of a source. named is the option for its name alone.
func (i *instrument[S]) observe(to metric.Observer, s *source[S], named []metric.ObserveOption) {
	for label, v := range i.Values(&s.stats, s.since) {
		options := named
		if i.Attribute != "" {
			options = []metric.ObserveOption{metric.WithAttributes(attribute.String(i.Attribute, label), s.name)}
		}
		switch v := v.(type) {
		case uint64:
			to.ObserveInt64(i.whole, int64(min(v, math.MaxInt64)), options...)
		case float64:
			to.ObserveFloat64(i.real, v, options...)
		case *stats.Histogram:
			to.ObserveInt64(i.whole, int64(min(v.Count(), math.MaxInt64)), options...)
			to.ObserveFloat64(i.real, v.Sum().Seconds(), options...)
		}
	}
}
