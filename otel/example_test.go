package otelpinwheel_test

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/memory"
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

// A miss has a span, within which are the reading of the store, the queries of the fetch and the writing of
// the store. A service has a batcher with an exporter in place of the recorder.
func ExampleNewTracer() {
	ctx, spans := context.Background(), tracetest.NewSpanRecorder()
	provider := trace.NewTracerProvider(trace.WithSpanProcessor(spans))
	defer provider.Shutdown(ctx)

	store := memory.New() // in a program that is near/redis
	users, err := near.New(store, store, near.Options[int, string]{
		Name: "users", Prefix: "users:",
		Tracer: otelpinwheel.NewTracer(provider),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer users.Close(ctx)
	store.WaitFor(1) // before it watches, it keeps values for MaxLag only

	for range 2 { // the second is a hit
		users.Take(ctx, 1, func(ctx context.Context) (string, error) {
			_, query := provider.Tracer("database").Start(ctx, "SELECT users") // as an instrumented driver does
			defer query.End()
			return "Ada", nil
		})
	}
	for _, s := range spans.Ended() {
		fmt.Println(s.Name())
	}
	// Output:
	// near read
	// SELECT users
	// near write
	// near load
}
