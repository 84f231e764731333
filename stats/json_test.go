package stats_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/pinwheel-cache/pinwheel/stats"
)

var nastyNames = []string{
	"users",
	`back\slash`, `quote"quote`, "new\nline", `\n`, `\"`, `\\`, "\\\n\"", "\r\n", "tab\t",
	`a",result="hit`, "{}", "#", " ", "ü 世界 🎡", "<script>alert(1)</script>", "&amp;", "{{.}}",
	"bad\xff\xfeutf8", "\xff", "\x00", "\u2028", "{cache=\"x\"} 1\n# HELP",
}

// document is the JSON as a foreign program reads it.
type document struct {
	Version int
	Time    time.Time
	Caches  []map[string]any
	Wheels  []map[string]any
}

func readJSON(t testing.TB, h http.Handler) document { return readJSONOf(t, h, "") }

// readJSONOf returns the answer to a query.
func readJSONOf(t testing.TB, h http.Handler, query string) document {
	t.Helper()
	var d document
	text := body(t, h, "/cache/stats.json"+query)
	if !utf8.ValidString(text) {
		t.Fatalf("not valid UTF-8: %q", text)
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return d
}

// flat returns the numbers and strings in v by path.
func flat(v map[string]any, path string, into map[string]any) map[string]any {
	for key, value := range v {
		if object, ok := value.(map[string]any); ok {
			flat(object, path+key+".", into)
		} else {
			into[path+key] = value
		}
	}
	return into
}

// TestJSONAgreesWithMetrics checks that stats.json has each number of /metrics, which
// proof/stats.TestMetricsShowEveryNumber compares with the snapshots.
func TestJSONAgreesWithMetrics(t *testing.T) {
	var r stats.Registry
	sources := 1
	for i, name := range nastyNames {
		r.Register(name, always(distinct(uint64(1000*i))))
		r.RegisterWheel(name, always(distinctWheel(uint64(1000*i))))
		sources++
	}
	r.Register("unused", always(stats.Snapshot{})) // has every field too
	r.RegisterWheel("unused", always(stats.WheelSnapshot{}))
	d, served := readJSON(t, r.Handler()), samples(t, r.Metrics())
	if len(d.Caches) != sources || len(d.Wheels) != sources {
		t.Fatalf("%d caches and %d wheels, want %d", len(d.Caches), len(d.Wheels), sources)
	}
	for object, all := range map[string][]map[string]any{"cache": d.Caches, "wheel": d.Wheels} {
		for _, source := range all {
			fields, compared := flat(source, "", map[string]any{}), 0
			for _, n := range stats.JSONNumbers() {
				if n.Object != object || n.Sample == "" {
					continue
				}
				want, ok := served[sample{object, source["name"].(string), n.Sample}]
				got := fields[n.Path]
				if got == true {
					got = 1.0 // of a near cache that serves
				}
				if ok && got != want || !ok && got != nil && got != 0.0 && got != false {
					t.Errorf("%s %q: %s is %v, and %s %v", object, source["name"], n.Path, got, n.Sample, want)
				}
				if ok {
					compared++
				}
			}
			if name := source["name"]; name != "unused" && (object == "cache" && compared < 50 || compared < 8) {
				t.Errorf("%s %q: only %d numbers were compared", object, name, compared)
			}
		}
	}
}

// A sample is the name of a number at /metrics: the label and name of its source, and the metric
// with its own label.
type sample struct{ by, source, metric string }

var sampleLine = regexp.MustCompile(`^(\w+)\{(cache|wheel)=("(?:[^"\\]|\\.)*")(?:,(\w+="\w+"))?\} (.*)$`)

// samples returns the numbers in a text of metrics; of a histogram the count.
func samples(t *testing.T, text string) map[sample]float64 {
	t.Helper()
	all := map[sample]float64{}
	for line := range strings.Lines(text) {
		m := sampleLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			continue // a comment, or a bucket
		}
		source := strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n").Replace(m[3][1 : len(m[3])-1])
		metric := strings.TrimSuffix(m[1], "_count")
		if m[4] != "" {
			metric += "{" + m[4] + "}"
		}
		value, err := strconv.ParseFloat(m[5], 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all[sample{m[2], source, metric}] = value
	}
	return all
}

// TestComputedNumbers checks the numbers of stats.json that are computed of others.
func TestComputedNumbers(t *testing.T) {
	var r stats.Registry
	s, w := distinct(0), distinctWheel(0)
	r.Register("users", always(s))
	r.RegisterWheel("timers", always(w))
	d := readJSON(t, r.Handler())
	loads := s.Loads.OK.Plus(s.Loads.Failed)
	got := flat(d.Caches[0], "", map[string]any{})
	for path, want := range map[string]any{
		"hit_ratio":                   s.HitRatio(),
		"loads.mean_seconds":          loads.Mean().Seconds(),
		"loads.p50_seconds":           loads.Quantile(0.5).Seconds(),
		"loads.p99_seconds":           loads.Quantile(0.99).Seconds(),
		"expiry.lateness_p50_seconds": s.Expiry.Lateness.Quantile(0.5).Seconds(),
		"expiry.lateness_p99_seconds": s.Expiry.Lateness.Quantile(0.99).Seconds(),
		"evicted_age.p50_seconds":     s.EvictedAge.Quantile(0.5).Seconds(),
		"evicted_age.p99_seconds":     s.EvictedAge.Quantile(0.99).Seconds(),
	} {
		if got[path] != want {
			t.Errorf("%s is %v, want %v", path, got[path], want)
		}
	}
	if got := d.Wheels[0]["lateness_p50_seconds"]; got != w.Lateness.Quantile(0.5).Seconds() {
		t.Errorf("lateness_p50_seconds of a wheel is %v", got)
	}
	if got := d.Wheels[0]["lateness_p99_seconds"]; got != w.Lateness.Quantile(0.99).Seconds() {
		t.Errorf("lateness_p99_seconds of a wheel is %v", got)
	}
}

func TestJSONOfNothingHasEmptyArrays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // in a bubble, time begins with this century
		var r stats.Registry
		executable, _ := os.Executable()
		host, _ := os.Hostname()
		want := fmt.Sprintf(`{"version":1,"time":"2000-01-01T00:00:00Z","interval_seconds":5,"program":%q,"host":%q,`+
			`"purge":false,"caches":[],"wheels":[]}`+"\n", filepath.Base(executable), host)
		if got := body(t, r.Handler(), "/stats.json"); got != want {
			t.Errorf("got %s want %s", got, want)
		}
	})
}

func TestEveryLookIsNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r stats.Registry
		s := stats.Snapshot{Hits: 1}
		r.Register("users", func() (stats.Snapshot, bool) { return s, true })
		h := r.Handler()
		first := readJSON(t, h)
		time.Sleep(time.Millisecond)
		s.Hits = 2
		second := readJSON(t, h)
		if got := second.Time.Sub(first.Time); got != time.Millisecond {
			t.Errorf("%v between the answers, want a millisecond", got)
		}
		if first.Caches[0]["hits"] != 1.0 || second.Caches[0]["hits"] != 2.0 {
			t.Errorf("hits %v and %v, want 1 and 2", first.Caches[0]["hits"], second.Caches[0]["hits"])
		}
	})
}

// TestJSONShowsExtras checks that the JSON has what a CacheSource offers besides counts, and keys
// as text, whatever bytes they have.
func TestJSONShowsExtras(t *testing.T) {
	var r stats.Registry
	purge := func(string) (int, error) { return 0, nil }
	hot := func(keys ...stats.HotKey) func() []stats.HotKey {
		return func() []stats.HotKey { return keys }
	}
	r.Add(stats.CacheSource{Name: "all", Snapshot: always(stats.Snapshot{}),
		Purge:   purge,
		HotKeys: hot(stats.HotKey{Key: "</script>\"\xff", Share: 0.5}, stats.HotKey{Key: "", Share: 0.25}),
	})
	r.Add(stats.CacheSource{Name: "none yet", Snapshot: always(stats.Snapshot{}), HotKeys: hot()})
	r.Add(stats.CacheSource{Name: "nothing", Snapshot: always(stats.Snapshot{}), PurgeAll: func() int { return 0 }})
	d := readJSON(t, r.Handler())
	tests := []struct {
		hot       any
		purgeable bool
	}{
		{[]any{
			map[string]any{"key": "</script>\"\uFFFD", "share": 0.5},
			map[string]any{"key": "", "share": 0.25},
		}, true},
		{[]any{}, false},
		{nil, false},
	}
	for i, want := range tests {
		c := d.Caches[i]
		if !reflect.DeepEqual(c["hot_keys"], want.hot) || c["purgeable"] != want.purgeable {
			t.Errorf("%v: hot_keys %#v and purgeable %v, want %#v and %v", c["name"], c["hot_keys"], c["purgeable"], want.hot, want.purgeable)
		}
	}
	if text := body(t, r.Handler(), "/stats.json"); strings.ContainsAny(text, "<>") {
		t.Errorf("a bracket is not escaped in %s", text)
	}
}

// TestTheFirstEvictionHasAnAge checks that one evicted value is enough for evicted_age.
func TestTheFirstEvictionHasAnAge(t *testing.T) {
	var r stats.Registry
	var ages stats.AgeRecorder
	ages.Observe(time.Minute)
	r.Register("users", always(stats.Snapshot{EvictedAge: ages.Histogram()}))
	age, _ := readJSON(t, r.Handler()).Caches[0]["evicted_age"].(map[string]any)
	if age["count"] != 1.0 {
		t.Errorf("evicted_age is %v, want that of one", age)
	}
}

// TestDoubleOfAGreatLimit checks that double the limit does not overflow.
func TestDoubleOfAGreatLimit(t *testing.T) {
	var r stats.Registry
	users := varying{s: stats.Snapshot{Limit: math.MaxInt - 1}}
	r.Register("users", users.snapshot)
	h := r.Handler()
	users.change(func(s *stats.Snapshot) { s.Hits, s.WhatIf.Gets = 1, 1 })
	d := readJSON(t, h)
	double := d.Caches[0]["what_if"].(map[string]any)["double"].(map[string]any)
	if got, want := double["limit"], float64(math.MaxInt-1); got != want {
		t.Errorf("double is %v, want %v", got, want)
	}
}

// TestJSONOfOddNumbers checks that a cache without a limit, after a Resize, has no estimates, and
// that a share that JSON cannot express, such as NaN, is shown as 0.
func TestJSONOfOddNumbers(t *testing.T) {
	var r stats.Registry
	var odd varying
	r.Add(stats.CacheSource{Name: "odd", Snapshot: odd.snapshot, HotKeys: func() []stats.HotKey {
		return []stats.HotKey{{Key: "nan", Share: math.NaN()}, {Key: "inf", Share: math.Inf(1)}, {Key: "\xff", Share: 0.5}}
	}})
	h := r.Handler()
	odd.change(func(s *stats.Snapshot) {
		*s = stats.Snapshot{Hits: 3, Misses: 1, WhatIf: stats.WhatIf{Gets: 4, Half: 1, Same: 2, Double: 3}}
	})
	d := readJSON(t, h)
	if got := d.Caches[0]["what_if"]; got != nil {
		t.Errorf("what_if without a limit is %v", got)
	}
	keys := d.Caches[0]["hot_keys"].([]any)
	for i, want := range []float64{0, 0, 0.5} {
		if got := keys[i].(map[string]any)["share"]; got != want {
			t.Errorf("share %d is %v, want %v", i, got, want)
		}
	}
}

// TestSince checks that a cache is shown with the time when it was registered, and so is the next
// one with its name.
func TestSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r stats.Registry
		check := func() {
			t.Helper()
			began := time.Now()
			_, unregister := r.Register("users", always(stats.Snapshot{}))
			defer unregister()
			time.Sleep(3 * time.Second)
			got, err := time.Parse(time.RFC3339, readJSON(t, r.Handler()).Caches[0]["since"].(string))
			if err != nil || !got.Equal(began) || !r.Caches()[0].Since.Equal(began) {
				t.Errorf("since %v, %v; want %v", got, err, began)
			}
		}
		check()
		check()
	})
}
