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
	var e exposition
	sources := make([]string, len(looks))
	for j := range looks {
		sources[j] = "{" + by + `="` + labelEscapes.Replace(looks[j].name) + `"`
	}
	for i := range metrics {
		m := &metrics[i]
		if m.Name == "" || m.all && !all {
			continue
		}
		e.family, e.label = m.Name, m.label()
		e.header = "# HELP " + m.Name + " " + m.Help + "\n# TYPE " + m.Name + " " + textTypes[m.Kind] + "\n"
		for j := range looks {
			e.source = sources[j]
			for value, number := range m.each(looks[j].stats, looks[j].since) {
				e.sample(value, number)
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
	header       string // of the metric being written; "" after its first sample
	family       string // name of the metric
	source       string // label that has the cache or wheel being written, after the bracket
	label, value string // the other label of the number; none if label is ""
}

// sample writes a number; of a histogram 25, whose buckets are cumulative, or nothing if it is empty, as most are.
func (e *exposition) sample(value string, number any) {
	e.value = value
	h, ok := number.(*Histogram)
	switch {
	case !ok:
		e.name("")
		e.number(number)
		return
	case h.Count() == 0:
		return
	}
	var below uint64
	for bound, n := range h.Buckets() {
		le := bound.Seconds()
		if bound == math.MaxInt64 {
			le = math.Inf(1)
		}
		below += n
		e.name("_bucket")
		e.add(`,le="`)
		e.buf = append(strconv.AppendFloat(e.buf, le, 'g', -1, 64), '"')
		e.number(&below)
	}
	e.name("_sum")
	e.number(h.Sum().Seconds())
	e.name("_count")
	e.number(h)
}

// name begins a sample with its name and labels, number ends it.
func (e *exposition) name(suffix string) {
	e.add(e.header, e.family, suffix, e.source)
	if e.header = ""; e.label != "" {
		e.add(",", e.label, `="`, e.value, `"`)
	}
}

func (e *exposition) number(of any) {
	e.add("} ")
	e.buf = append(appendNumber(e.buf, of), '\n')
}

func (e *exposition) add(texts ...string) {
	for _, text := range texts {
		e.buf = append(e.buf, text...)
	}
}

// labelEscapes escapes what the value of a label, in valid UTF-8, must not have.
var labelEscapes = strings.NewReplacer("\\", "\\\\", "\"", "\\\"", "\n", "\\n")
