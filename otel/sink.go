package otelpinwheel

import (
	"math"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/pinwheel-cache/pinwheel/stats"
)

const (
	cacheName = attribute.Key("pinwheel.cache.name")
	wheelName = attribute.Key("pinwheel.timingwheel.name")
)

// A source is a cache or a timing wheel, with its snapshot.
type source[S any] struct {
	name  attribute.KeyValue
	since time.Time // when it was made
	stats S
}

func caches() []source[stats.Snapshot] {
	named := stats.Caches()
	all := make([]source[stats.Snapshot], len(named))
	for i, c := range named {
		all[i] = source[stats.Snapshot]{cacheName.String(c.Name), c.Since, c.Snapshot}
	}
	return all
}

func wheels() []source[stats.WheelSnapshot] {
	named := stats.Wheels()
	all := make([]source[stats.WheelSnapshot], len(named))
	for i, w := range named {
		all[i] = source[stats.WheelSnapshot]{wheelName.String(w.Name), w.Since, w.Snapshot}
	}
	return all
}

// A sink takes the values of a source for an instrument. Its methods take the attributes
// beside the name, if the metric has any.
type sink struct {
	to    metric.Observer
	since time.Time // when the source was made
	name  attribute.KeyValue
	named []metric.ObserveOption // name alone

	int64   metric.Int64Observable   // the instrument, if it is one of whole numbers
	float64 metric.Float64Observable // or this
}

func newSink(to metric.Observer, name attribute.KeyValue, since time.Time) *sink {
	return &sink{to: to, since: since, name: name, named: []metric.ObserveOption{metric.WithAttributeSet(attribute.NewSet(name))}}
}

func (s *sink) count(n uint64, more ...attribute.KeyValue) {
	s.to.ObserveInt64(s.int64, int64(min(n, math.MaxInt64)), s.with(more)...)
}

func (s *sink) number(n int) { s.to.ObserveInt64(s.int64, int64(n), s.named...) }

func (s *sink) value(v float64, more ...attribute.KeyValue) {
	s.to.ObserveFloat64(s.float64, v, s.with(more)...)
}

func (s *sink) with(more []attribute.KeyValue) []metric.ObserveOption {
	if len(more) == 0 {
		return s.named
	}
	return []metric.ObserveOption{metric.WithAttributes(append(more, s.name)...)}
}
