package stats

import (
	"cmp"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// textTypes are the types of metrics in the text format, by Kind.
var textTypes = map[string]string{counter: "counter", level: "gauge", gauge: "gauge", durations: "histogram"}

// writeMetrics writes the statistics of the selected caches and wheels in Prometheus
// text format 0.0.4, and those of the process if all are.
func (r *registries) writeMetrics(to io.Writer, of selection) error {
	now := time.Now()
	err := writeFamilies(to, "cache", of.all, cacheMetrics, r.caches.looks(of.hasCache, now))
	err = cmp.Or(err, writeFamilies(to, "wheel", of.all, wheelMetrics, r.wheels.looks(of.hasWheel, now)))
	if !of.some {
		err = cmp.Or(err, r.writeProcess(to))
	}
	return err
}

// writeFamilies writes the samples of all looks, with their names in the label by; without all,
// those of the small set. The format wants all samples of a metric together.
func writeFamilies[S any](to io.Writer, by string, all bool, metrics []Metric[S], looks []look[S]) error {
	e := exposition{by: by}
	for i := range metrics {
		m := &metrics[i]
		if m.Name == "" || m.all && !all {
			continue
		}
		e.family, e.kind, e.help, e.headed = m.Name, m.Kind, m.Help, false
		name := m.label()
		for j := range looks {
			l := &looks[j]
			e.source = l.name
			for label, v := range m.values(l.stats, l.since) {
				e.sample(name, label, v)
			}
			if len(e.buf) >= chunk {
				if _, err := to.Write(e.buf); err != nil {
					return err
				}
				e.buf = e.buf[:0]
			}
		}
	}
	_, err := to.Write(e.buf)
	return err
}

// An exposition is a text under construction.
type exposition struct {
	buf          []byte // what is not written yet
	family, help string // of the samples being written
	kind         string
	headed       bool   // the family has its header, which it gets with the first sample
	by           string // label that has source in every sample: cache or wheel
	source       string // name of the cache or wheel being written
}

// sample writes a number. Its label has a value unless it is the only one of its metric.
func (e *exposition) sample(label, value string, v value) {
	if label != "" {
		label += `="` + value + `"`
	}
	switch e.kind {
	case durations:
		e.histogram(label, v.times)
	case gauge:
		e.name("", label)
		e.float(v.float)
	default:
		e.name("", label)
		e.uint(v.count)
	}
}

// histogram writes the 25 samples of a histogram, unless it is empty, as most are. Buckets of
// the format are cumulative.
func (e *exposition) histogram(label string, h *Histogram) {
	if h.Count() == 0 {
		return
	}
	separator := ""
	if label != "" {
		separator = ","
	}
	var below uint64
	for bound, n := range h.Buckets() {
		below += n
		le := "+Inf"
		if bound < math.MaxInt64 {
			le = strconv.FormatFloat(bound.Seconds(), 'g', -1, 64)
		}
		e.name("_bucket", label+separator+`le="`+le+`"`)
		e.uint(below)
	}
	e.name("_sum", label)
	e.float(h.Sum().Seconds())
	e.name("_count", label)
	e.uint(below)
}

// name writes the name of a sample and its labels.
func (e *exposition) name(suffix, label string) {
	if !e.headed {
		e.headed = true
		e.buf = append(e.buf, "# HELP "+e.family+" "+e.help+"\n# TYPE "+e.family+" "+textTypes[e.kind]+"\n"...)
	}
	e.buf = append(e.buf, e.family...)
	e.buf = append(e.buf, suffix...)
	e.buf = append(e.buf, '{')
	e.buf = append(e.buf, e.by...)
	e.buf = append(e.buf, `="`...)
	e.buf = append(e.buf, labelEscapes.Replace(e.source)...)
	e.buf = append(e.buf, '"')
	if label != "" {
		e.buf = append(e.buf, ',')
		e.buf = append(e.buf, label...)
	}
	e.buf = append(e.buf, "} "...)
}

func (e *exposition) uint(v uint64) {
	e.buf = strconv.AppendUint(e.buf, v, 10)
	e.buf = append(e.buf, '\n')
}

func (e *exposition) float(v float64) {
	e.buf = strconv.AppendFloat(e.buf, v, 'g', -1, 64)
	e.buf = append(e.buf, '\n')
}

// labelEscapes escapes what the value of a label, in valid UTF-8, must not have.
var labelEscapes = strings.NewReplacer("\\", "\\\\", "\"", "\\\"", "\n", "\\n")
