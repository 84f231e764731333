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
	must(t, json.Unmarshal([]byte(body(t, http.DefaultServeMux, "/debug/vars")), &all))
	if len(all.Memstats) == 0 {
		t.Error("the other variables are gone")
	}
	var d document
	must(t, json.Unmarshal(all.Pinwheel, &d))
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
