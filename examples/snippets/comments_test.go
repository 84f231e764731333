package snippets

// The Go code of the documentation of packages.

import (
	"context"
	"net/http"
	"time"

	"github.com/zeromicro/go-zero/core/conf"
	gozerocache "github.com/zeromicro/go-zero/core/stores/cache"
	"github.com/zeromicro/go-zero/core/stores/sqlc"
	"github.com/zeromicro/go-zero/core/stores/sqlx"
	"github.com/zeromicro/go-zero/rest"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/cache/codec"
	"github.com/pinwheel-cache/pinwheel/gozero"
	"github.com/pinwheel-cache/pinwheel/lru"
	otelpinwheel "github.com/pinwheel-cache/pinwheel/otel"
	"github.com/pinwheel-cache/pinwheel/stats"
)

func New(ctx context.Context, db interface {
	User(context.Context, int64) (*User, error)
}, id int64) (*User, error) {
	users, err := cache.New(cache.Options[int64, *User]{
		Name:   "users",
		Limit:  100_000,
		Expire: time.Hour,
		Jitter: 0.05,
	})
	if err != nil {
		return nil, err
	}
	user, err := users.TakeCtx(ctx, id, func(ctx context.Context) (*User, error) {
		return db.User(ctx, id)
	})
	users.Del(id) // after the database has changed
	return user, err
}

func Codec(ctx context.Context, users *cache.Cache[string, *User]) (int, error) {
	encode, decode := codec.JSON[string, *User]()
	err := users.SaveFile(ctx, "users.cache", encode)
	if err != nil {
		return 0, err
	}
	return users.RestoreFile("users.cache", decode)
}

func StoreByPolicy(policy lru.Policy, h uint64, hashOfEntry func(uint32) uint64) {
	i, _ := policy.Victim()
	for policy.Spare(i, hashOfEntry(i)) {
		i, _ = policy.Victim()
	}
	policy.Remove(i)
	policy.Insert(i, h)
}

func GoZeroOption(c Config, flush func(cache.Event[int64, *User])) {
	gozero.MustNewCache(c.Users, func(o *cache.Options[int64, *User]) {
		o.OnRemove = flush
	})
}

func GoZeroService(configFile *string) *cache.Cache[int64, *User] {
	var c Config
	conf.MustLoad(*configFile, &c)
	users := gozero.MustNewCache[int64, *User](c.Users)

	server := rest.MustNewServer(c.RestConf)
	server.AddRoutes(gozero.Routes(), rest.WithPrefix("/cache"))
	gozero.MustRegister()
	server.Start()
	return users
}

func GoZeroModel(conn sqlx.SqlConn, c gozerocache.CacheConf, near gozerocache.Cache, opts ...gozerocache.Option) UserModel {
	m := newUserModel(conn, c, opts...)
	m.CachedConn = sqlc.NewConnWithCache(conn, near)
	return &customUserModel{defaultUserModel: m}
}

func Metrics(exporter metric.Exporter) (metric.Reader, error) {
	registration, err := otelpinwheel.Register(otel.GetMeterProvider())
	if err != nil {
		return nil, err
	}
	defer registration.Unregister()
	return metric.NewPeriodicReader(exporter, metric.WithProducer(otelpinwheel.NewProducer())), nil
}

func PageForAdmins(onlyAdmins func(http.Handler) http.Handler) {
	http.Handle("/cache/", onlyAdmins(stats.Handler()))
}

func PageByName() http.Handler {
	return stats.Handler(stats.WithHosts("stats.example.com"))
}
