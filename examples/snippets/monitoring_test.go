package snippets

import (
	"context"
	"crypto/subtle"
	"errors"
	"expvar"
	"net"
	"net/http"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/zeromicro/go-zero/rest"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/gozero"
	"github.com/pinwheel-cache/pinwheel/near"
	otelpinwheel "github.com/pinwheel-cache/pinwheel/otel"
	prompinwheel "github.com/pinwheel-cache/pinwheel/prometheus"
	"github.com/pinwheel-cache/pinwheel/stats"
)

func Page() {
	http.Handle("/cache/", stats.Handler())
}

func PageOfItsOwn() {
	go http.ListenAndServe("127.0.0.1:6061", stats.Handler())
}

func PageWithPassword() {
	http.Handle("/cache/", basicAuth(stats.Handler()))
}

func basicAuth(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		if subtle.ConstantTimeCompare([]byte(password), []byte(os.Getenv("STATS_PASSWORD"))) != 1 {
			w.Header().Set("WWW-Authenticate", `Basic realm="statistics"`)
			http.Error(w, "unauthorized", http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	})
}

func Purge() {
	stats.Handler(stats.WithOperators(func(r *http.Request) error {
		if user, _, _ := r.BasicAuth(); user != "operator" {
			return errors.New("only operators may purge")
		}
		return nil
	}))
}

func Fleet() {
	stats.Handler(stats.WithPeers(func(ctx context.Context) (pages []string, err error) {
		addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip4", "users.default.svc")
		for _, address := range addresses {
			pages = append(pages, "http://"+address.String()+":8080/cache/")
		}
		return pages, err
	}))
}

type Config struct {
	rest.RestConf
	Users gozero.Conf
}

func Service(c Config) *cache.Cache[int64, *User] {
	users := gozero.MustNewCache[int64, *User](c.Users)

	server := rest.MustNewServer(c.RestConf)
	server.AddRoutes(gozero.Routes(), rest.WithPrefix("/cache")) // the page
	gozero.MustRegister()                                        // metrics on the DevServer, :6060/metrics
	server.Start()
	return users
}

func Collector() {
	prometheus.MustRegister(prompinwheel.NewCollector())
}

func OpenTelemetry(exporter metric.Exporter) (func() error, error) {
	reader := metric.NewPeriodicReader(exporter, metric.WithProducer(otelpinwheel.NewProducer()))
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	registration, err := otelpinwheel.Register(provider)
	if err != nil {
		return nil, err
	}
	return registration.Unregister, nil
}

func Traces(store near.Store, source near.Source, provider trace.TracerProvider) (*near.Cache[int64, *User], error) {
	users, err := near.New(store, source, near.Options[int64, *User]{
		Name:   "users",
		Tracer: otelpinwheel.NewTracer(provider),
	})
	return users, err
}

func Expvar() {
	expvar.Publish("pinwheel", stats.Var{})
}
