package stats

import "net/http"

// A Registry is a registry of a test's own, so that tests do not see each other's
// caches.
type Registry = registry

func (r *registry) Register(name string, source func() (Snapshot, bool)) (string, func()) {
	return r.register(name, source)
}

func (r *registry) All() []Named { return r.all() }

func (r *registry) Handler() http.Handler { return newHandler(r) }

var (
	Count         = count
	Integer       = integer
	QuantileText  = quantile
	AppendMetrics = appendMetrics
)
