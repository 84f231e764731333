package stats_test

import (
	"encoding/json"
	"errors"
	"expvar"
	"fmt"
	"io/fs"
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

	"github.com/pinwheel-cache/pinwheel/internal/histogram"
	"github.com/pinwheel-cache/pinwheel/internal/sources"
	"github.com/pinwheel-cache/pinwheel/internal/vitals"
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
	var ages histogram.AgeRecorder
	ages.Observe(time.Minute)
	r.Register("users", always(stats.Snapshot{EvictedAge: stats.Histogram(ages.Histogram())}))
	d := readJSON(t, r.Handler())
	if age, _ := d.Caches[1]["evicted_age"].(map[string]any); age["count"] != 1.0 { // one evicted value is enough
		t.Errorf("evicted_age is %v, want that of one", age)
	}
	loads := histogram.Histogram(s.Loads.OK).Plus(histogram.Histogram(s.Loads.Failed)).Plus(histogram.Histogram(s.Loads.TimedOut))
	got := flat(d.Caches[0], "", map[string]any{})
	for path, want := range map[string]any{
		"hit_ratio":                   s.HitRatio(),
		"loads.failed":                float64(s.Loads.Failed.Count() + s.Loads.TimedOut.Count()),
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
	for path, q := range map[string]float64{"lateness_p50_seconds": 0.5, "lateness_p99_seconds": 0.99} {
		if got := d.Wheels[0][path]; got != w.Lateness.Quantile(q).Seconds() {
			t.Errorf("%s of a wheel is %v", path, got)
		}
	}
}

func TestJSONOfNothingHasEmptyArrays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // in a bubble, time begins with this century
		var r stats.Registry
		executable, _ := os.Executable()
		host, _ := os.Hostname()
		want := fmt.Sprintf(`{"host":%q,"interval_seconds":5,"peers":false,"program":%q,"purge":false,`+
			`"time":"2000-01-01T00:00:00Z","version":1,"caches":[],"wheels":[]}`+"\n", host, filepath.Base(executable))
		if got := regexp.MustCompile(`,"process":{.*?}`).ReplaceAllString(body(t, r.Handler(), "/stats.json"), ""); got != want {
			t.Errorf("got %s want %s", got, want)
		}
	})
}

// TestJSONShowsExtras checks that the JSON has what a source offers besides counts, and keys
// as text, whatever bytes they have.
func TestJSONShowsExtras(t *testing.T) {
	var r stats.Registry
	hot := func(keys ...sources.HotKey) func() []sources.HotKey {
		return func() []sources.HotKey { return keys }
	}
	r.Add(sources.Cache[stats.Snapshot]{Name: "all", Snapshot: always(stats.Snapshot{}),
		Settings: sources.Settings{Expire: time.Minute, Idle: time.Second, Jitter: 0.25, Refresh: 0.5, RefreshAfter: 2 * time.Second, Grace: 3 * time.Second,
			Patience: 4 * time.Second, Negative: true, Timeout: 1500 * time.Millisecond, MaxLoads: 7, Workers: 8, Policy: "lru", Accept: []string{"cleared"}},
		Purge:   func(string) (int, error) { return 0, nil },
		HotKeys: hot(sources.HotKey{Key: "</script>\"\xff", Share: 0.5}, sources.HotKey{Share: 0.25}, sources.HotKey{Key: "nan", Share: math.NaN()}, sources.HotKey{Key: "inf", Share: math.Inf(1)}),
	})
	r.Add(sources.Cache[stats.Snapshot]{Name: "none yet", Snapshot: always(stats.Snapshot{}), HotKeys: hot()})
	r.Add(sources.Cache[stats.Snapshot]{Name: "nothing", Snapshot: always(stats.Snapshot{}), PurgeAll: func() int { return 0 }})
	d := readJSON(t, r.Handler())
	for i, want := range []struct {
		hot       any
		purgeable bool
	}{
		{[]any{
			map[string]any{"key": "</script>\"\uFFFD", "share": 0.5},
			map[string]any{"key": "", "share": 0.25},
			map[string]any{"key": "nan", "share": 0.0}, // JSON cannot express it
			map[string]any{"key": "inf", "share": 0.0},
		}, true},
		{[]any{}, false},
		{nil, false},
	} {
		c := d.Caches[i]
		if !reflect.DeepEqual(c["hot_keys"], want.hot) || c["purgeable"] != want.purgeable {
			t.Errorf("%v: hot_keys %#v and purgeable %v, want %#v and %v", c["name"], c["hot_keys"], c["purgeable"], want.hot, want.purgeable)
		}
	}
	settings := map[string]any{"expire_seconds": 60.0, "idle_seconds": 1.0, "jitter": 0.25, "refresh": 0.5, "refresh_after_seconds": 2.0, "grace_seconds": 3.0,
		"patience_seconds": 4.0, "negative": true, "workers": 8.0, "bypass": false, "timeout_seconds": 1.5, "max_loads": 7.0, "policy": "lru", "accept": []any{"cleared"}}
	if got := d.Caches[0]["settings"]; !reflect.DeepEqual(got, settings) {
		t.Errorf("settings are %v, want %v", got, settings)
	}
}

// TestTimes checks that an answer has its time, and that a cache is shown with the time when it was
// registered, and so is the next one with its name.
func TestTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r stats.Registry
		h := r.Handler()
		r.RegisterWheel("timers", always(stats.WheelSnapshot{}))
		first := time.Now()
		for range 2 {
			began := time.Now()
			_, unregister := r.Register("users", always(stats.Snapshot{}))
			time.Sleep(3 * time.Second)
			d := readJSON(t, h)
			since, err := time.Parse(time.RFC3339, d.Caches[0]["since"].(string))
			must(t, err)
			if !d.Time.Equal(time.Now()) || !since.Equal(began) || !r.Caches()[0].Since.Equal(began) || !r.Wheels()[0].Since.Equal(first) {
				t.Errorf("at %v since %v; want %v since %v", d.Time, since, time.Now(), began)
			}
			unregister()
		}
	})
}

// A badError panics in Error.
type badError struct{}

func (*badError) Error() string { panic("oh") }

// TestLastErrors checks that the type of an error is shown, and its text with WithErrors
// only, as it may have keys and passwords in it.
func TestLastErrors(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, test := range []struct {
		err      error
		kind     string
		contains string
	}{
		{errors.New("user ann is not there"), "*errors.errorString", "user ann is not there"},
		{fmt.Errorf("ann: %w", &fs.PathError{Op: "open", Path: "ann", Err: fs.ErrNotExist}), "*errors.errorString", "ann: open ann"},
		{fmt.Errorf("ann: %w", &badError{}), "*stats_test.badError", "PANIC"},
		{&badError{}, "*stats_test.badError", "PANIC"},
		{fmt.Errorf("%w: %w", errors.ErrUnsupported, errors.Join(errors.ErrUnsupported, &badError{})), "*stats_test.badError", "PANIC"},
		{errors.New(strings.Repeat("x", 1000)), "*errors.errorString", "xx…"},
	} {
		var r stats.Registry
		failure := &sources.Failure{Time: at, Err: test.err}
		r.Add(sources.Cache[stats.Snapshot]{Name: "users", Snapshot: always(stats.Snapshot{}), HotKeys: func() []sources.HotKey { return nil },
			Failures: func() (load, store, source *sources.Failure) { return failure, failure, failure }})
		for _, shown := range []bool{false, true} {
			h := r.Handler()
			if shown {
				h = r.Handler(stats.WithErrors())
			}
			for _, of := range []string{"last_load_error", "last_store_error", "last_source_error"} {
				got := readJSON(t, h).Caches[0][of].(map[string]any)
				text := got["text"].(string)
				if got["time"] != "2026-01-02T03:04:05Z" || got["type"] != test.kind || shown != (text != "") || shown && !strings.Contains(text, test.contains) {
					t.Errorf("%s of type %q with WithErrors %t is shown as %v", of, test.kind, shown, got)
				}
			}
		}
	}
}

func init() { expvar.Publish("pinwheel", stats.Var{}) }

// TestVar checks that the variable is among others, has what stats.json has without a history, and
// is made anew for each look.
func TestVar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, remove := sources.Register(sources.Cache[stats.Snapshot]{Name: "in expvar", Snapshot: ticking()})
		defer remove()
		_, removeWheel := sources.Register(sources.Wheel[stats.WheelSnapshot]{Name: "in expvar", Snapshot: always(distinctWheel(0))})
		defer removeWheel()
		defer stats.SetVitals(vitals.Reading{})()
		before := stats.Var{}.String()
		stats.Handler(stats.WithOperators(anybody)) // purge is false where there is none
		sleep(20 * time.Second)
		var all struct{ Pinwheel, Memstats json.RawMessage }
		must(t, json.Unmarshal([]byte(body(t, http.DefaultServeMux, "/debug/vars")), &all))
		if len(all.Memstats) == 0 {
			t.Error("the other variables are gone")
		}
		got, want := string(all.Pinwheel)+"\n", body(t, stats.Handler(), "/stats.json")
		if got != want || strings.Count(got, "in expvar") != 2 || got == before+"\n" {
			t.Errorf("Var is %s, stats.json %s; 20 s ago %s", got, want, before)
		}
	})
}
