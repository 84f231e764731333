package gozero

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	prompinwheel "github.com/pinwheel-cache/pinwheel/prometheus"
)

// MustRegister registers a [NewCollector] with Prometheus' default registry, which
// go-zero's DevServer serves, by default at :6060/metrics. Calling it again does
// nothing. It panics if the registry has another such collector. It is safe for
// concurrent use.
func MustRegister() { registerOnce() }

var registerOnce = sync.OnceFunc(func() { prometheus.MustRegister(NewCollector()) })

// NewCollector returns what NewCollector of module prometheus returns: a collector of the
// metrics of all caches and timing wheels of the process, also of those made later. A registry
// accepts only one such collector. It is safe for concurrent use.
func NewCollector() prometheus.Collector { return prompinwheel.NewCollector() }
