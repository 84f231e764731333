package otelpinwheel

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/metric"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// scope is the name of the instrumentation scope: that of the package, by convention.
const scope = "github.com/pinwheel-cache/pinwheel/otel"

// Register registers the statistics of all caches and timing wheels of the process with
// a provider, such as that of [go.opentelemetry.io/otel.GetMeterProvider], also of those
// made later. Package stats lists them. Each time that a reader of the
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
	ofCaches, err := instruments(meter, stats.Metrics[stats.Snapshot]())
	if err != nil {
		return nil, err
	}
	ofWheels, err := instruments(meter, stats.Metrics[stats.WheelSnapshot]())
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
