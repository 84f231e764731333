package otelpinwheel_test

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/pinwheel-cache/pinwheel/cache"
	otelpinwheel "github.com/pinwheel-cache/pinwheel/otel"
)

var encoder = attribute.DefaultEncoder()

// What a cache counts arrives at a reader. A service has a PeriodicReader with an
// exporter in place of the ManualReader.
func Example() {
	reader := metric.NewManualReader(metric.WithProducer(otelpinwheel.NewProducer()))
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	registration, err := otelpinwheel.Register(provider)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer registration.Unregister()

	users := cache.Must(cache.Options[int, string]{Name: "users", Limit: 1000})
	defer users.Close(context.Background())
	users.Set(1, "Ada")
	users.Get(1)
	users.Get(2)

	var collected metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &collected); err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range collected.ScopeMetrics[0].Metrics {
		if m.Name == "pinwheel.cache.gets" {
			for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
				fmt.Println(m.Name, p.Attributes.Encoded(encoder), p.Value)
			}
		}
	}
	// Unordered output:
	// pinwheel.cache.gets pinwheel.cache.get.result=hit,pinwheel.cache.name=users 1
	// pinwheel.cache.gets pinwheel.cache.get.result=miss,pinwheel.cache.name=users 1
}
