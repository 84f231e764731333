package stats

import (
	"iter"
	"math"
	"slices"
	"time"
)

// A Metric describes one metric of caches, whose S is a [Snapshot], or of timing wheels,
// whose S is a [WheelSnapshot]. [CacheMetrics] and [WheelMetrics] list them. [Handler] makes
// its metrics and its JSON from this list. The collectors for Prometheus' client library and
// for OpenTelemetry, which are modules of their own, use it too. A Metric may be read by
// several goroutines.
type Metric[S any] struct {
	Name string // in Prometheus, such as "cache_gets_total"; empty if Prometheus does not get it
	Path string // in OpenTelemetry, such as "pinwheel.cache.gets"; empty if OpenTelemetry does not get it
	Kind Kind
	Unit string // in OpenTelemetry: "s", "1", or in braces what is counted; of a histogram, what has the durations
	Help string // a sentence

	// Label and Attribute are the names, in Prometheus and in OpenTelemetry, of what tells
	// the numbers of the metric apart. They are empty if it has only one number.
	Label, Attribute string

	numbers []number[S]
	only    func(*S) bool                // whether a source has the metric; nil: each has
	ofBirth func(born time.Time) float64 // instead of numbers: computed from when the source was made
}

// A Kind says what the numbers of a [Metric] are.
type Kind int

const (
	KindCounter   Kind = iota + 1 // a count that never falls
	KindLevel                     // a count that rises and falls; its sum over all sources has a meaning
	KindGauge                     // a time in seconds, or a share; its sum has no meaning
	KindHistogram                 // durations
)

// A Value is a number of a [Metric], as its kind says.
type Value struct {
	Count uint64     // of a counter or level
	Float float64    // of a gauge
	Times *Histogram // of a histogram, else nil; it must not be changed
}

// CacheMetrics returns the metrics of caches. They are always the same, in the same order.
func CacheMetrics() []Metric[Snapshot] { return slices.Clone(cacheMetrics) }

// WheelMetrics returns the metrics of timing wheels. They are always the same, in the same
// order.
func WheelMetrics() []Metric[WheelSnapshot] { return slices.Clone(wheelMetrics) }

// Values yields the numbers that s has of the metric, each with the value of its label. It
// yields none if s is of a source without the metric, such as one without a limit. born is
// when the source was made. s must not change meanwhile.
func (m *Metric[S]) Values(s *S, born time.Time) iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if m.only != nil && !m.only(s) {
			return
		}
		if m.ofBirth != nil {
			yield("", Value{Float: m.ofBirth(born)})
			return
		}
		for i := range m.numbers {
			if n := &m.numbers[i]; !yield(n.label, valueOf(n.of(s))) {
				return
			}
		}
	}
}

// Labels returns the values of the label, in the order of Values. It is empty if the metric
// has no label.
func (m *Metric[S]) Labels() (values []string) {
	for i := range m.numbers {
		if m.Label != "" {
			values = append(values, m.numbers[i].label)
		}
	}
	return values
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

// valueOf returns the value of what number.of has returned.
func valueOf(of any) Value {
	switch v := of.(type) {
	case *uint64:
		return Value{Count: *v}
	case uint64:
		return Value{Count: v}
	case *int:
		return Value{Count: uint64(max(*v, 0))}
	case *bool:
		if *v {
			return Value{Count: 1}
		}
		return Value{}
	case *time.Duration:
		return Value{Float: v.Seconds()}
	case *float64:
		return Value{Float: finite(*v)}
	case float64:
		return Value{Float: finite(v)}
	case *Histogram:
		return Value{Times: v}
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
		if m.Kind != KindCounter && m.Kind != KindHistogram {
			continue
		}
		for j := range m.numbers {
			of := m.numbers[j].of
			switch to := of(s).(type) {
			case *uint64:
				*to = minus(*to, *of(earlier).(*uint64))
			case *Histogram:
				*to = to.Minus(*of(earlier).(*Histogram))
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
