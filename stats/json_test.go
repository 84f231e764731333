package stats_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
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

func TestJSONShowsEveryNumber(t *testing.T) {
	var r stats.Registry
	want := map[string]stats.Snapshot{}
	for i, name := range nastyNames {
		s := distinct(uint64(1000 * i))
		unique, _ := r.Register(name, always(s))
		want[unique] = s
	}
	r.Register("unused", always(stats.Snapshot{})) // has every field too
	want["unused"] = stats.Snapshot{}
	d := readJSON(t, r.Handler())
	if len(d.Caches) != len(want) {
		t.Fatalf("%d caches, want %d", len(d.Caches), len(want))
	}
	for _, c := range d.Caches {
		name := fmt.Sprint(c["name"])
		s, ok := want[name]
		if !ok {
			t.Errorf("cache %q, which nobody registered", name)
			continue
		}
		loads := s.Loads.OK.Plus(s.Loads.Failed)
		number := func(v uint64) any { return float64(v) }
		want := map[string]any{
			"name":                           name,
			"hits":                           number(s.Hits),
			"misses":                         number(s.Misses),
			"hit_ratio":                      s.HitRatio(),
			"misses_absent":                  number(s.Misses - s.MissesExpired - s.MissesEvicted),
			"misses_expired":                 number(s.MissesExpired),
			"misses_evicted":                 number(s.MissesEvicted),
			"hits_in_grace":                  number(s.HitsInGrace),
			"sets":                           number(s.Sets),
			"restored":                       number(s.Restored),
			"entries":                        number(uint64(s.Entries)),
			"negatives":                      number(uint64(s.Negatives)),
			"limit":                          number(uint64(s.Limit)),
			"weight":                         number(s.Weight),
			"max_weight":                     number(s.MaxWeight),
			"removals.expired":               number(s.Removals.Expired),
			"removals.evicted":               number(s.Removals.Evicted),
			"removals.deleted":               number(s.Removals.Deleted),
			"removals.replaced":              number(s.Removals.Replaced),
			"removals.cleared":               number(s.Removals.Cleared),
			"loads.ok":                       number(s.Loads.OK.Count()),
			"loads.failed":                   number(s.Loads.Failed.Count()),
			"loads.negative":                 number(s.Loads.Negative),
			"loads.waiters":                  number(s.Loads.Waiters),
			"loads.waits":                    number(s.Loads.Waits.Count()),
			"loads.wait_p50_seconds":         s.Loads.Waits.Quantile(0.5).Seconds(),
			"loads.wait_p99_seconds":         s.Loads.Waits.Quantile(0.99).Seconds(),
			"loads.running":                  number(uint64(s.Loads.Running)),
			"loads.oldest_seconds":           s.Loads.Oldest.Seconds(),
			"loads.queued":                   number(uint64(s.Loads.Queued)),
			"loads.abandoned":                number(s.Loads.Abandoned),
			"loads.refreshes.ok":             number(s.Loads.Refreshes.OK),
			"loads.refreshes.failed":         number(s.Loads.Refreshes.Failed),
			"loads.refreshes.dropped":        number(s.Loads.Refreshes.Dropped),
			"loads.refreshes.skipped":        number(s.Loads.Refreshes.Skipped),
			"callbacks.running":              number(uint64(s.Callbacks.Running)),
			"callbacks.oldest_seconds":       s.Callbacks.Oldest.Seconds(),
			"expiry.overdue":                 number(uint64(s.Expiry.Overdue)),
			"since":                          c["since"], // see TestSince
			"loads.mean_seconds":             loads.Mean().Seconds(),
			"loads.p50_seconds":              loads.Quantile(0.5).Seconds(),
			"loads.p99_seconds":              loads.Quantile(0.99).Seconds(),
			"callbacks.queued":               number(uint64(s.Callbacks.Queued)),
			"callbacks.blocked":              number(uint64(s.Callbacks.Blocked)),
			"callbacks.panics":               number(s.Callbacks.Panics),
			"expiry.pending":                 number(uint64(s.Expiry.Pending)),
			"expiry.tombstones":              number(uint64(s.Expiry.Tombstones)),
			"expiry.lateness_p50_seconds":    s.Expiry.Lateness.Quantile(0.5).Seconds(),
			"expiry.lateness_p99_seconds":    s.Expiry.Lateness.Quantile(0.99).Seconds(),
			"evicted_age":                    nil,
			"what_if":                        nil, // see TestWhatIfIsOfTheLastMinutes
			"hot_keys":                       nil,
			"slow_keys":                      nil,
			"purgeable":                      false,
			"purgeable_by_prefix":            false,
			"hottest_key_share":              s.HottestShare,
			"settings.expire_seconds":        0.0, // see TestSettings
			"settings.idle_seconds":          0.0,
			"settings.jitter":                0.0,
			"settings.refresh_ratio":         0.0,
			"settings.refresh_after_seconds": 0.0,
			"settings.grace_seconds":         0.0,
			"settings.patience_seconds":      0.0,
			"settings.negative":              false,
			"settings.workers":               0.0,
			"settings.timeout_seconds":       0.0,
			"settings.max_loads":             0.0,
			"settings.policy":                "",
			"last_load_error":                nil, // see TestLastLoadError
			"findings":                       c["findings"],
		}
		if s.EvictedAge.Count() > 0 {
			delete(want, "evicted_age")
			want["evicted_age.count"] = number(s.EvictedAge.Count())
			want["evicted_age.p50_seconds"] = s.EvictedAge.Quantile(0.5).Seconds()
			want["evicted_age.p99_seconds"] = s.EvictedAge.Quantile(0.99).Seconds()
		}
		addNear(want, s.Near)
		delete(c, "windows") // history_test.go looks at those
		if got := flat(c, "", map[string]any{}); !reflect.DeepEqual(got, want) {
			t.Errorf("%q\n got %v\nwant %v", name, got, want)
		}
	}
}

func TestJSONShowsEveryNumberOfWheels(t *testing.T) {
	var r stats.Registry
	want := map[string]stats.WheelSnapshot{"unused": {}} // has every field too
	r.RegisterWheel("unused", always(stats.WheelSnapshot{}))
	for i, name := range nastyNames {
		w := distinctWheel(uint64(1000 * i))
		unique, _ := r.RegisterWheel(name, always(w))
		want[unique] = w
	}
	d := readJSON(t, r.Handler())
	if len(d.Wheels) != len(want) || len(d.Caches) != 0 {
		t.Fatalf("%d wheels and %d caches, want %d and none", len(d.Wheels), len(d.Caches), len(want))
	}
	for _, got := range d.Wheels {
		name := fmt.Sprint(got["name"])
		w, ok := want[name]
		if !ok {
			t.Errorf("wheel %q, which nobody registered", name)
			continue
		}
		want := map[string]any{
			"name":                 name,
			"pending":              float64(w.Pending),
			"backlog":              float64(w.Backlog),
			"running":              float64(w.Running),
			"tombstones":           float64(w.Tombstones),
			"started":              float64(w.Started),
			"removed":              float64(w.Removed),
			"fired":                float64(w.Fired),
			"panics":               float64(w.Panics),
			"lateness_p50_seconds": w.Lateness.Quantile(0.5).Seconds(),
			"lateness_p99_seconds": w.Lateness.Quantile(0.99).Seconds(),
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q\n got %v\nwant %v", name, got, want)
		}
	}
}

func TestJSONOfNothingHasEmptyArrays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // in a bubble, time begins with this century
		var r stats.Registry
		executable, _ := os.Executable()
		host, _ := os.Hostname()
		want := fmt.Sprintf(`{"version":1,"time":"2000-01-01T00:00:00Z","interval_seconds":5,"program":%q,"release":"","host":%q,`+
			`"address":"","pid":%d,"started":%q,"purge":false,"peers":0,"caches":[],"wheels":[]}`+"\n", filepath.Base(executable), host, os.Getpid(), stats.Started.Format(time.RFC3339Nano))
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
		SlowKeys: func() []stats.SlowKey {
			return []stats.SlowKey{{Key: "</script>\xff", Took: 2 * time.Second, At: time.Unix(0, 0)}}
		},
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
	slow := []any{map[string]any{"key": "</script>\uFFFD", "seconds": 2.0, "time": "1970-01-01T00:00:00Z"}}
	if got := d.Caches[0]["slow_keys"]; !reflect.DeepEqual(got, slow) {
		t.Errorf("slow_keys are %#v, want %#v", got, slow)
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
	r.Register("users", always(stats.Snapshot{EvictedAge: ages.Ages()}))
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
