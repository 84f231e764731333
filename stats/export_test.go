package stats

import "net/http"

// A Registry is what the process has, for a test of its own, so that tests do not
// see each other's caches and timing wheels.
type Registry = registries

func (r *registries) Register(name string, source func() (Snapshot, bool)) (string, func()) {
	return r.registerCache(name, source)
}

func (r *registries) RegisterWheel(name string, source func() (Wheel, bool)) (string, func()) {
	return r.registerWheel(name, source)
}

func (r *registries) All() []Named { return r.allCaches() }

func (r *registries) AllWheels() []NamedWheel { return r.allWheels() }

func (r *registries) Handler() http.Handler { return newHandler(r) }

func (r *registries) Metrics() string {
	return string(appendMetrics(nil, r.caches.all(), r.wheels.all()))
}

var (
	Count        = count
	Integer      = integer
	QuantileText = quantile
)
