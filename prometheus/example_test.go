package prompinwheel_test

import (
	"context"
	"fmt"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/pinwheel-cache/pinwheel/cache"
	prompinwheel "github.com/pinwheel-cache/pinwheel/prometheus"
)

// What a cache counts is among what a registry gathers. A service may use the default registry.
func Example() {
	registry := prometheus.NewRegistry()
	registry.MustRegister(prompinwheel.NewCollector())

	users := cache.Must(cache.Options[int, string]{Name: "users", Limit: 1000})
	defer users.Close(context.Background())
	users.Set(1, "Ada")
	users.Get(1)

	families, err := registry.Gather()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range families {
		if f.GetName() == "cache_gets_total" {
			expfmt.MetricFamilyToText(os.Stdout, f)
		}
	}
	// Output:
	// # HELP cache_gets_total Lookups, by whether they found a value.
	// # TYPE cache_gets_total counter
	// cache_gets_total{cache="users",result="hit"} 1
	// cache_gets_total{cache="users",result="miss"} 0
}
