package stats

import (
	"iter"
	"math"
	"slices"
	"strings"
	"time"
)

// A Metric describes one metric of caches, whose S is a [Snapshot], or of timing wheels,
// whose S is a [WheelSnapshot]. [Metrics] lists them. [Handler] makes
// its metrics and its JSON from this list. The collectors for Prometheus' client library and
// for OpenTelemetry, which are modules of their own, use it too. A Metric may be read by
// several goroutines.
type Metric[S any] struct {
	Name string // in Prometheus, such as "cache_gets_total"; empty if Prometheus does not get it
	Path string // in OpenTelemetry, such as "pinwheel.cache.gets"; empty if OpenTelemetry does not get it
	Unit string // in OpenTelemetry: "s", "1", or in braces what is counted; of a histogram, what has the durations
	Help string // a sentence

	// Kind is "counter" of a count that never falls, "level" of one that rises and falls and
	// whose sum over all sources has a meaning, "gauge" of a time in seconds or a share, whose
	// sum has no meaning, and "histogram" of durations.
	Kind string

	// Attribute is the name, in OpenTelemetry, of what tells the numbers of the metric apart,
	// such as "pinwheel.cache.get.result". What follows the last dot is the label in Prometheus.
	// It is empty if the metric has only one number.
	Attribute string

	all     bool // Handler's metrics have it on request only, as neither alert nor board needs it
	numbers []number[S]
	only    func(*S) bool                // whether a source has the metric; nil: each has
	ofBirth func(born time.Time) float64 // instead of numbers: computed from when the source was made
}

// The kinds of metrics.
const (
	counter   = "counter"
	level     = "level"
	gauge     = "gauge"
	durations = "histogram"
)

// Metrics returns the metrics of caches or of timing wheels. They are always the same, in the same
// order.
func Metrics[S Snapshot | WheelSnapshot]() []Metric[S] {
	if of, ok := any(cacheMetrics).([]Metric[S]); ok {
		return slices.Clone(of)
	}
	return slices.Clone(any(wheelMetrics).([]Metric[S]))
}

// Values yields the numbers that s has of the metric, each with the value of its label: an
// uint64 of a counter or level, a float64 of a gauge, a *[Histogram] of a histogram, which must
// not be changed. It yields none if s is of a source without the metric, such as one without a
// limit. born is when the source was made. s must not change meanwhile.
func (m *Metric[S]) Values(s *S, born time.Time) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for label, of := range m.each(s, born) {
			number := of
			if _, ok := of.(*Histogram); !ok {
				count, float, whole := scalar(of)
				if number = float; whole {
					number = count
				}
			}
			if !yield(label, number) {
				return
			}
		}
	}
}

// each yields what number.of returns for each number that s has.
func (m *Metric[S]) each(s *S, born time.Time) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		switch {
		case m.only != nil && !m.only(s):
			return
		case m.ofBirth != nil:
			yield("", m.ofBirth(born))
			return
		}
		for i := range m.numbers {
			if n := &m.numbers[i]; !yield(n.label, n.of(s)) {
				return
			}
		}
	}
}

// label returns the name of the label in Prometheus, or "".
func (m *Metric[S]) label() string {
	return m.Attribute[strings.LastIndexByte(m.Attribute, '.')+1:]
}

// A number is one number of S.
type number[S any] struct {
	label string // value of the label of its metric

	// of returns a pointer to the number in s, or the number itself if it is computed.
	// Only what a pointer leads to is subtracted.
	of func(s *S) any

	// Names in stats.json: of the source, in a point of its history, in a window. A dot
	// leads into an object. Where the name is empty the number is missing.
	json, point, window string

	says string // the description in the schema of stats.json; empty: as Help of its metric
}

// named completes names with what is the same in those of all metrics.
func named[S any](inPrometheus, inOpenTelemetry string, metrics []Metric[S]) []Metric[S] {
	for i := range metrics {
		m := &metrics[i]
		if m.Name != "" {
			m.Name = inPrometheus + m.Name
			if m.Kind == counter {
				m.Name += "_total"
			}
		}
		for _, name := range []*string{&m.Path, &m.Attribute} {
			if *name != "" {
				*name = inOpenTelemetry + *name
			}
		}
	}
	return metrics
}

// single returns a metric of one number, with its names in stats.json: in a source, in a point and in a window.
func single[S any](name, path, kind, unit, help, source, point, window string, of func(*S) any) Metric[S] {
	return Metric[S]{Name: name, Path: path, Kind: kind, Unit: unit, Help: help,
		numbers: []number[S]{{json: source, point: point, window: window, of: of}}}
}

// onRequest leaves a metric out of the small set of [Handler].
func onRequest[S any](m Metric[S]) Metric[S] {
	m.all = true
	return m
}

// scalar returns what number.of has returned, as a whole number or a float. That of a histogram is its count.
func scalar(of any) (count uint64, float float64, whole bool) {
	switch v := of.(type) {
	case *uint64:
		return *v, 0, true
	case uint64:
		return v, 0, true
	case *int:
		return uint64(max(*v, 0)), 0, true
	case *bool:
		if *v {
			count = 1
		}
		return count, 0, true
	case *Histogram:
		return v.Count(), 0, true
	case *time.Duration:
		return 0, v.Seconds(), false
	case *float64:
		return 0, finite(*v), false
	case float64:
		return 0, finite(v), false
	}
	panic("stats: a number of an unknown type")
}

// finite returns v, or 0 for what JSON cannot express.
func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

// subtract takes from the counters and histograms of s what they were earlier. Levels and
// gauges stay. A counter below its earlier value becomes 0.
func subtract[S any](metrics []Metric[S], s, earlier *S) {
	for i := range metrics {
		m := &metrics[i]
		if m.Kind != counter && m.Kind != durations {
			continue
		}
		for j := range m.numbers {
			of := m.numbers[j].of
			switch to := of(s).(type) {
			case *uint64:
				*to = minus(*to, *of(earlier).(*uint64))
			case *Histogram:
				*to = Histogram(to.data().Minus(of(earlier).(*Histogram).data()))
			}
		}
	}
}

// minus returns a−b, or 0 if b is greater.
func minus(a, b uint64) uint64 {
	if b > a {
		return 0
	}
	return a - b
}
