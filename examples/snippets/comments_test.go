package snippets

import (
	"context"
	"net/http"
	"time"

	"github.com/zeromicro/go-zero/core/conf"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/cache/codec"
	"github.com/pinwheel-cache/pinwheel/gozero"
	"github.com/pinwheel-cache/pinwheel/near"
	otelpinwheel "github.com/pinwheel-cache/pinwheel/otel"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// What only comments of the packages have.

func PackageCache(ctx context.Context, db database, id int64) (*User, error) {
	users, err := cache.New(cache.Options[int64, *User]{
		Name:   "users",
		Limit:  100_000,
		Expire: time.Hour,
		Jitter: 0.05,
		Grace:  time.Hour, // old values while loads fail
		Load:   func(ctx context.Context, id int64, _ *cache.Load[*User]) (*User, error) { return db.User(ctx, id) },
	})
	if err != nil {
		return nil, err
	}

	user, err := users.Fetch(ctx, id)
	return user, err
}

func PackageCodec(ctx context.Context, users *cache.Cache[string, *User]) (func([]byte) (string, *User, error), error) {
	encode, decode := codec.JSON[string, *User]()
	err := users.SaveFile(ctx, "users.cache", encode)
	return decode, err
}

func PackageStats(onlyAdmins func(http.Handler) http.Handler) {
	http.Handle("/cache/", onlyAdmins(stats.Handler()))
	stats.Handler(stats.WithHosts("stats.example.com"))
}

func PackageGoZero(configFile *string, flush func(cache.Event[int64, *User])) *cache.Cache[int64, *User] {
	var c Config
	conf.MustLoad(*configFile, &c)
	users := gozero.MustNewCache[int64, *User](c.Users)

	gozero.MustNewCache(c.Users, func(o *cache.Options[int64, *User]) {
		o.OnRemove = flush
	})
	return users
}

func PackageOtel(exporter metric.Exporter) (func() error, error) {
	metric.NewPeriodicReader(exporter, metric.WithProducer(otelpinwheel.NewProducer()))
	registration, err := otelpinwheel.Register(otel.GetMeterProvider())
	return registration.Unregister, err
}

func NewTracer(options near.Options[int64, *User]) near.Options[int64, *User] {
	options.Tracer = otelpinwheel.NewTracer(otel.GetTracerProvider())
	return options
}

func Fetch(ctx context.Context, id int64) {
	trace.SpanFromContext(ctx).SetAttributes(attribute.Int64("user.id", id))
}
