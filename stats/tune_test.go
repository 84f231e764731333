package stats_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/sources"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// TestTune checks what each form changes, what the answer says, and that a wrong form changes nothing.
func TestTune(t *testing.T) {
	const before = `{"bypass":false,"expire_seconds":60,"grace_seconds":0,"max_loads":7,"patience_seconds":0}`
	for _, test := range []struct {
		form string
		code int
		want string // the answer, or a part of it
	}{
		{"cache=users", 200, before},
		{"cache=users&max_loads=10&grace=1m&expire=5m&patience=100ms&bypass=1", 200, `{"bypass":true,"expire_seconds":300,"grace_seconds":60,"max_loads":10,"patience_seconds":0.1}`},
		{"cache=users&expire=0&max_loads=0&bypass=0", 200, `{"bypass":false,"expire_seconds":0,"grace_seconds":0,"max_loads":0,"patience_seconds":0}`},
		{"cache=users&zoom=1&max_loads=many&bypass=yes&expire=5&grace=1m&patience=1s&patience=2s&age=1", 400,
			`expire is \"5\": want a time with a unit, such as 90s or 5m, or 0 for none; patience is \"1s 2s\": want a time with a unit, such as 90s or 5m, or 0 for none; ` +
				`max_loads is \"many\": want the most loads at once, or 0 for no limit; bypass is \"yes\": want 1, or 0 to end it; there is no field \"age\": want expire, `},
		{"cache=users&expire=1h&max_loads=-1", 400, `"cache: both are wrong; it is so"`},
		{"cache=orders&expire=1h", 404, `there is no cache \"orders\"`},
		{"cache=gone&expire=1h", 404, `there is no cache \"gone\"`},
		{"cache=fixed&expire=1h", 400, `options of cache \"fixed\" cannot be changed`},
		{"expire=1h", 400, "want the field cache"},
		{"cache=users&cache=gone", 400, "want the field cache"},
	} {
		var r stats.Registry
		holds := sources.Tuning{Expire: time.Minute, MaxLoads: 7}
		register := func(name string, alive bool) {
			r.Add(sources.Cache[stats.Snapshot]{Name: name, Snapshot: always(stats.Snapshot{}), Tune: func(change func(*sources.Tuning)) (sources.Tuning, bool, error) {
				to := holds
				if change != nil {
					change(new(sources.Tuning)) // as if another change had come
					change(&to)
				}
				if to.MaxLoads < 0 {
					return holds, alive, errors.New("cache: both are wrong\nit is so")
				}
				holds = to
				return holds, alive, nil
			}})
		}
		register("users", true)
		newPurgeable(1).register(&r, "fixed")
		if strings.Contains(test.form, "gone") {
			register("gone", false)
		}
		h := r.Handler(stats.WithOperators(anybody))
		w := purge{target: "/cache/tune", body: test.form}.send(h)
		if got := strings.TrimSpace(w.Body.String()); w.Code != test.code || !strings.Contains(got, test.want) {
			t.Errorf("%s: %d %s, want %d %s", test.form, w.Code, got, test.code, test.want)
		}
		if test.code == 200 {
			var want map[string]any
			must(t, json.Unmarshal([]byte(test.want), &want))
			settings := readJSONOf(t, h, "?cache=users").Caches[0]["settings"].(map[string]any)
			for name := range want {
				if settings[name] != want[name] {
					t.Errorf("%s: in stats.json %s is %v", test.form, name, settings[name])
				}
			}
		}
		if again := (purge{target: "/cache/tune", body: "cache=users"}).send(h); test.code != 200 && !strings.Contains(test.form, "gone") && strings.TrimSpace(again.Body.String()) != before {
			t.Errorf("%s: afterwards %s", test.form, again.Body)
		}
	}
}

// TestWhoMayTune checks that tune is served only to those who are authorized, and that it wants a POST.
func TestWhoMayTune(t *testing.T) {
	var r stats.Registry
	newPurgeable(1).register(&r, "users")
	for _, test := range []struct {
		options []stats.HandlerOption
		method  string
		code    int
	}{
		{nil, "POST", 404},
		{[]stats.HandlerOption{stats.WithOperators(func(*http.Request) error { return errors.New("not you") })}, "POST", 403},
		{[]stats.HandlerOption{stats.WithOperators(anybody)}, "GET", 405},
	} {
		w := purge{method: test.method, target: "/cache/tune", body: "cache=users"}.send(r.Handler(test.options...))
		if w.Code != test.code {
			t.Errorf("%s: %d, want %d", test.method, w.Code, test.code)
		}
	}
}
