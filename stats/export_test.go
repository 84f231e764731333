package stats

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/sources"
	"github.com/pinwheel-cache/pinwheel/internal/vitals"
)

// A Registry is a registry of its own for a test, so that tests do not see each other's caches
// and timing wheels.
type Registry = registries

func (r *registries) Add(s sources.Source) (string, func()) { return r.register(s) }

func (r *registries) Register(name string, snapshot func() (Snapshot, bool)) (string, func()) {
	return r.Add(sources.Cache[Snapshot]{Name: name, Snapshot: snapshot})
}

func (r *registries) RegisterWheel(name string, snapshot func() (WheelSnapshot, bool)) (string, func()) {
	return r.Add(sources.Wheel[WheelSnapshot]{Name: name, Snapshot: snapshot})
}

func (r *registries) Caches() []Named[Snapshot] { return r.caches.named() }

func (r *registries) Wheels() []Named[WheelSnapshot] { return r.wheels.named() }

// Handler returns a handler that somebody has asked for stats.json.
func (r *registries) Handler(options ...HandlerOption) http.Handler {
	h := newHandler(r, options...)
	r.keepHistory()
	return h
}

// UnaskedHandler is [Handler] for these registries.
func (r *registries) UnaskedHandler() http.Handler { return newHandler(r) }

func (r *registries) Metrics() string {
	var text strings.Builder
	_ = r.writeMetrics(&text, selection{all: true}) // a Builder takes everything
	return text.String()
}

// A JSONNumber is a number in stats.json.
type JSONNumber struct {
	Object string // the definition in the schema
	Path   string
	Type   string // in the schema
	Says   string
	Source string // the path in the object of the cache or timing wheel; empty if it is not there
	Sample string // the name and label at /metrics; empty if it is not there
}

// OnRequest reports whether only ?all=1 has m.
func (m *Metric[S]) OnRequest() bool { return m.all }

// Labels returns the name of the label of m and its values, none if the metric has no label.
func (m *Metric[S]) Labels() (name string, values []string) {
	for i := range m.numbers {
		if m.Attribute != "" {
			values = append(values, m.numbers[i].label)
		}
	}
	return m.label(), values
}

// JSONNumbers returns all numbers in stats.json.
func JSONNumbers() []JSONNumber {
	return append(jsonNumbers("cache", "cachePoint", "window", cacheMetrics, cacheComputed),
		jsonNumbers("wheel", "wheelPoint", "", wheelMetrics, wheelComputed)...)
}

func jsonNumbers[S any](source, point, window string, metrics []Metric[S], computed []number[S]) (all []JSONNumber) {
	add := func(n number[S], says, sample string) {
		kind := "number"
		switch n.of(new(S)).(type) {
		case *uint64, uint64, *int, *Histogram:
			kind = "integer"
		case *bool:
			kind = "boolean"
		}
		for object, path := range map[string]string{source: n.json, point: n.point, window: n.window} {
			if path != "" {
				all = append(all, JSONNumber{object, path, kind, cmp.Or(n.says, says), n.json, sample})
			}
		}
	}
	for _, m := range metrics {
		for _, n := range m.numbers {
			sample := m.Name
			if m.Attribute != "" {
				sample += fmt.Sprintf("{%s=%q}", m.label(), n.label)
			}
			add(n, m.Help, sample)
		}
	}
	for _, n := range computed {
		add(n, "", "")
	}
	return all
}

// Samples returns the history of the cache with a name as a look does.
func (r *registries) Samples(name string) []*sample[Snapshot] {
	r.caches.mu.Lock()
	defer r.caches.mu.Unlock()
	return r.caches.byName[name].history
}

// A History is the history of one cache, without a clock.
type History struct{ history history[Snapshot] }

func (h *History) Add(at time.Time, s Snapshot) {
	h.history.add(&sample[Snapshot]{at, s}, historyPoints+1)
}

// Points returns the newest n points of a look that finds s at a time.
func (h *History) Points(at time.Time, s Snapshot, n int) []Point {
	var points []Point
	for p := range h.look(at, s).points(n) {
		points = append(points, exported(p))
	}
	return points
}

// Window returns the window of a look that finds s at a time.
func (h *History) Window(at time.Time, s Snapshot, length time.Duration) Point {
	return exported(h.look(at, s).window(length))
}

func (h *History) look(at time.Time, s Snapshot) *look[Snapshot] {
	return &look[Snapshot]{at: at, stats: &s, samples: h.history}
}

// A Point is a point.
type Point struct {
	Start    time.Time
	Length   time.Duration
	From, To Snapshot
	Running  bool
}

func exported(p point[Snapshot]) Point { return Point{p.start, p.length, *p.from, *p.to, p.running} }

// VarString is [Var.String] for these registries.
func (r *registries) VarString() string { return r.varString() }

func (r *registries) Sample(now time.Time) {
	r.caches.sample(now)
	r.wheels.sample(now)
}

// Minus is [Snapshot.Minus] of a timing wheel.
func (w WheelSnapshot) Minus(earlier WheelSnapshot) WheelSnapshot {
	subtract(wheelMetrics, &w, &earlier)
	return w
}

// DialPeers makes an option of [WithPeers] before it connect to peers by dial.
func DialPeers(dial func(ctx context.Context, network, address string) (net.Conn, error)) HandlerOption {
	return func(h *handler) { h.fleet.client.Transport.(*http.Transport).DialContext = dial }
}

// AddSelf returns the instances of a fleet of peers with this process, whose stats.json is own.
func AddSelf(own string, peers ...string) []jsonInstance {
	var f jsonFleet
	for _, peer := range peers {
		var i jsonInstance
		if err := json.Unmarshal([]byte(peer), &i); err != nil {
			panic(err)
		}
		f.Instances = append(f.Instances, i)
	}
	if err := f.addSelf(strings.NewReader(own)); err != nil {
		panic(err)
	}
	return f.Instances
}

// ProcessMetrics returns a paragraph for each metric of the process.
func ProcessMetrics() (all []string) {
	for _, m := range processMetrics {
		all = append(all, fmt.Sprintf("pinwheel_process_%s\n\t%s. %s\n\n", m.name, m.kind, m.help))
	}
	return all
}

// SetVitals makes all processes have these vitals, until the function that it returns is called.
func SetVitals(r vitals.Reading) (reset func()) {
	fakeVitals.Store(&r)
	return func() { fakeVitals.Store(nil) }
}

// Stop notes that the process was stopped until now.
func (r *registries) Stop(length time.Duration) { r.stops.Note(time.Now().Add(-length)) }

// Known returns how many findings of the cache with a name are remembered.
func (r *registries) Known(name string) int { return len(r.caches.byName[name].memory.known) }
