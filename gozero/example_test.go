package gozero_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/zeromicro/go-zero/core/conf"
	"github.com/zeromicro/go-zero/rest"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/gozero"
	"github.com/pinwheel-cache/pinwheel/gozero/collection"
)

type User struct{ Name string }

// A cache that is set up in the service's YAML.
func ExampleMustNewCache() {
	var c struct{ Users gozero.Conf }
	err := conf.LoadFromYamlBytes([]byte(`
Users:
  Name: users
  Limit: 10000
  Expire: 5m
`), &c) // in a service: conf.MustLoad(*configFile, &c)
	if err != nil {
		fmt.Println(err)
		return
	}
	users := gozero.MustNewCache[int64, *User](c.Users)
	user, err := users.Take(1, func() (*User, error) {
		return &User{Name: "Ada"}, nil // from the database
	})
	fmt.Println(user.Name, err)
	// Output: Ada <nil>
}

// Options set what YAML cannot, and an error says what to write.
func ExampleNewCache() {
	c := gozero.Conf{Name: "sessions", Idle: -30 * time.Second}
	_, err := gozero.NewCache(c, func(o *cache.Options[string, time.Time]) {
		o.OnRemove = func(e cache.Event[string, time.Time]) {
			fmt.Println(e.Key, e.Cause)
		}
	})
	fmt.Println(err)
	// Output: gozero: cache "sessions": cache: Idle is -30s: want a positive time, or 0 for never
}

// The page, stats.json and metrics of all caches, as routes of a rest server.
func ExampleRoutes() {
	server, err := rest.NewServer(rest.RestConf{}) // in a service: c.RestConf
	if err != nil {
		fmt.Println(err)
		return
	}
	server.AddRoutes(gozero.Routes(), rest.WithPrefix("/cache"))
	for _, r := range server.Routes() {
		fmt.Println(r.Method, r.Path)
	}
	// Output:
	// GET /cache
	// HEAD /cache
	// GET /cache/:file
	// HEAD /cache/:file
	// POST /cache/:file
}

// Once in main, and the DevServer shows all caches at :6060/metrics.
func ExampleMustRegister() {
	gozero.MustRegister()
	fmt.Println(gathers(prometheus.DefaultGatherer, "cache_gets_total"))
	// Output: true
}

// gathers reports whether a metric is there once there is a cache.
func gathers(g prometheus.Gatherer, name string) bool {
	users := gozero.MustNewCache[int64, *User](gozero.Conf{Name: "users"})
	defer users.Get(1) // it is not collected before
	families, err := g.Gather()
	return err == nil && slices.ContainsFunc(families, func(f *dto.MetricFamily) bool { return f.GetName() == name })
}

// The minute line for caches that this package did not make.
func ExampleLogStats() {
	users, err := collection.NewCache(time.Hour, collection.WithName("users"))
	if err != nil {
		fmt.Println(err)
		return
	}
	gozero.LogStats()
	users.Set("1", &User{Name: "Ada"})
	_, found := users.Get("1")
	fmt.Println(found) // and within a minute: cache(users) - qpm: 1, hit_ratio: 100.0%, elements: 1, hit: 1, miss: 0
	// Output: true
}
