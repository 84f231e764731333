package otelpinwheel

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/metric"
)

// scope is the name of the instrumentation scope: that of the package, by convention.
const scope = "github.com/pinwheel-cache/pinwheel/otel"

// Register registers the statistics of all caches and timing wheels of the process with
// a provider, such as that of [go.opentelemetry.io/otel.GetMeterProvider], also of those
// made later. The package documentation lists them. Each time that a reader of the
// provider collects, Register takes one snapshot of every cache and timing wheel.
//
// Unregister of the result ends that. Register once with each provider: it adds up values
// that are reported twice. Register returns an error if provider is nil, or cannot make an
// instrument. It is safe for concurrent use.
func Register(provider metric.MeterProvider) (metric.Registration, error) {
	if provider == nil {
		return nil, errors.New("otelpinwheel: Register got a nil MeterProvider: want that of the SDK, or otel.GetMeterProvider()")
	}
	meter := provider.Meter(scope)
	ofCaches, err := instruments(meter, cacheFamilies, cacheHistograms)
	if err != nil {
		return nil, err
	}
	ofWheels, err := instruments(meter, wheelFamilies, wheelHistograms)
	if err != nil {
		return nil, err
	}
	registration, err := meter.RegisterCallback(func(_ context.Context, to metric.Observer) error {
		observe(to, ofCaches, caches())
		observe(to, ofWheels, wheels())
		return nil
	}, append(observables(ofCaches), observables(ofWheels)...)...)
	if err != nil {
		return nil, fmt.Errorf("otelpinwheel: RegisterCallback: %w", err)
	}
	return registration, nil
}

// An instrument is that of a family, made by a meter. One of int64 and float64 is nil.
type instrument[S any] struct {
	family[S]
	int64   metric.Int64Observable
	float64 metric.Float64Observable
}

// instruments makes the instruments of families, and those of the counts and sums of
// histograms.
func instruments[S any](meter metric.Meter, families []family[S], histograms []histogram[S]) (all []instrument[S], err error) {
	for _, h := range histograms {
		families = append(families[:len(families):len(families)], h.count(), h.sum())
	}
	for _, f := range families {
		made := instrument[S]{family: f}
		unit, description := metric.WithUnit(f.unit), metric.WithDescription(f.description)
		switch f.kind {
		case counter:
			made.int64, err = meter.Int64ObservableCounter(f.name, unit, description)
		case level:
			made.int64, err = meter.Int64ObservableUpDownCounter(f.name, unit, description)
		case total:
			made.float64, err = meter.Float64ObservableCounter(f.name, unit, description)
		case gauge:
			made.float64, err = meter.Float64ObservableGauge(f.name, unit, description)
		}
		if err != nil {
			return nil, fmt.Errorf("otelpinwheel: the instrument %s: %w", f.name, err)
		}
		all = append(all, made)
	}
	return all, nil
}

func observables[S any](instruments []instrument[S]) (all []metric.Observable) {
	for _, i := range instruments {
		if i.int64 != nil {
			all = append(all, i.int64)
		} else {
			all = append(all, i.float64)
		}
	}
	return all
}

func observe[S any](to metric.Observer, instruments []instrument[S], sources []source[S]) {
	for i := range sources {
		s := &sources[i]
		out := newSink(to, s.name, s.since)
		for _, i := range instruments {
			out.int64, out.float64 = i.int64, i.float64
			i.observe(out, &s.stats)
		}
	}
}
