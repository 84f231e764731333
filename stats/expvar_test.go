package stats_test

import (
	"encoding/json"
	"expvar"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/stats"
)

func init() { expvar.Publish("pinwheel", stats.Var{}) }

func TestVarBesideOtherVariables(t *testing.T) {
	_, remove := stats.Register(stats.CacheSource{Name: "in expvar", Snapshot: always(distinct(0))})
	defer remove()
	_, removeWheel := stats.Register(stats.WheelSource{Name: "in expvar", Snapshot: always(distinctWheel(0))})
	defer removeWheel()
	var all struct {
		Pinwheel json.RawMessage
		Memstats json.RawMessage
	}
	if err := json.Unmarshal([]byte(body(t, http.DefaultServeMux, "/debug/vars")), &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Memstats) == 0 {
		t.Error("the other variables are gone")
	}
	var d document
	if err := json.Unmarshal(all.Pinwheel, &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Caches) != 1 || d.Caches[0]["name"] != "in expvar" || len(d.Wheels) != 1 {
		t.Errorf("the variable has %v and %v", d.Caches, d.Wheels)
	}
}

func TestVarIsStatsJSONWithoutHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, remove := stats.Register(stats.CacheSource{Name: "users", Snapshot: ticking()})
		defer remove()
		before := stats.Var{}.String()
		time.Sleep(time.Second)
		if d := (stats.Var{}).String(); len(d) == 0 || before == d {
			t.Errorf("a second later it is the same, %s", d)
		}
		h := stats.Handler(stats.WithPurge(anybody))
		sleep(20 * time.Second)
		var d struct{ Purge bool }
		got, want := stats.Var{}.String()+"\n", body(t, stats.Handler(), "/stats.json")
		if got != want {
			t.Errorf("Var is %s, stats.json %s", got, want)
		}
		if err := json.Unmarshal([]byte(got), &d); err != nil || d.Purge {
			t.Errorf("%v: purge is %v where there is none", err, d.Purge)
		}
		_ = h
	})
}

// Var alone has no samples taken: its windows are empty.
func TestVarTakesNoSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r stats.Registry
		r.Register("users", ticking())
		sleep(time.Minute)
		var s shown
		if err := json.Unmarshal([]byte(r.VarString()), &s); err != nil {
			t.Fatal(err)
		}
		if w := s.Caches[0].Windows["5m"]; w.Seconds != 0 || w.Gets != 0 {
			t.Errorf("the window is %+v, want none", w)
		}
		if got := len(r.Samples("users")); got != 0 {
			t.Errorf("%d samples, want none", got)
		}
	})
}
