package stats_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// shown has the parts of stats.json that tests of the history read.
type shown struct {
	Caches []struct {
		Name    string
		Windows map[string]shownWindow
		History []struct {
			Seconds float64
			Hits    uint64
		}
	}
}

type shownWindow struct {
	Seconds       float64
	Hits          uint64
	GetsPerSecond float64 `json:"gets_per_second"`
}

// show reads stats.json with a number of points.
func show(t testing.TB, h http.Handler, points int) shown {
	t.Helper()
	text := body(t, h, "/stats.json?points="+strconv.Itoa(points))
	var s shown
	must(t, json.Unmarshal([]byte(text), &s))
	return s
}

// ticking returns a source that counts three hits and a miss for each millisecond from
// now on.
func ticking() func() (stats.Snapshot, bool) {
	begin := time.Now()
	return func() (stats.Snapshot, bool) {
		n := uint64(time.Since(begin).Milliseconds())
		return stats.Snapshot{Hits: 3 * n, Misses: n}, true
	}
}

// TestPointsHaveEveryNumber checks that a point and a window have the numbers of a cache or wheel
// that was made at their beginning.
func TestPointsHaveEveryNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r, since stats.Registry
		now, more := distinct(0), distinct(500)
		wheelNow, wheelMore := distinctWheel(0), distinctWheel(500)
		r.Register("users", of(&now))
		r.RegisterWheel("timers", of(&wheelNow))
		since.Register("users", always(more))
		since.RegisterWheel("timers", always(wheelMore))
		h := r.Handler()
		sleep(2 * time.Second)
		now, wheelNow = add(now, more), add(wheelNow, wheelMore)
		d, want := readJSONOf(t, h, "?points=61"), readJSON(t, since.Handler())
		windows := d.Caches[0]["windows"].(map[string]any)
		for _, c := range []struct {
			object string
			got    any
			want   map[string]any
		}{
			{"window", windows["10s"], want.Caches[0]},
			{"window", windows["1m"], want.Caches[0]},
			{"window", windows["5m"], want.Caches[0]},
			{"cachePoint", d.Caches[0]["history"].([]any)[0], want.Caches[0]},
			{"wheelPoint", d.Wheels[0]["history"].([]any)[0], want.Wheels[0]},
		} {
			checkSince(t, c.object, flat(c.got.(map[string]any), "", map[string]any{}), flat(c.want, "", map[string]any{}), more)
		}
	})
}

// checkSince compares the fields of a point or window of two seconds with those of a cache or
// wheel that was made at its beginning.
func checkSince(t *testing.T, object string, got, want map[string]any, more stats.Snapshot) {
	t.Helper()
	fields := map[string]any{"seconds": 2.0}
	if object == "window" {
		fields["gets"], fields["gets_per_second"] = float64(more.Gets()), float64(more.Gets())/2
	} else {
		fields["start"], fields["partial"] = "2000-01-01T00:00:00.000Z", true
	}
	for _, n := range stats.JSONNumbers() {
		switch {
		case n.Object != object:
		case n.Source != "":
			fields[n.Path] = want[n.Source]
		case n.Path == "loads":
			fields[n.Path] = float64(more.Loads.OK.Count() + more.Loads.Failed.Count() + more.Loads.TimedOut.Count())
		case fields[n.Path] == nil:
			t.Errorf("%s.%s is computed in a way that this test does not know", object, n.Path)
		}
	}
	if !maps.Equal(got, fields) {
		t.Errorf("%s:\n got %v\nwant %v", object, got, fields)
	}
}

// TestAHistoryIsOfOneCacheOnly checks that a cache with the name of an earlier one, which was
// unregistered or is gone, does not have its history, nor what it counted before it was
// registered, but what it counts before the next sample.
func TestAHistoryIsOfOneCacheOnly(t *testing.T) {
	for _, unregisters := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var r stats.Registry
			gone := false
			_, unregister := r.Register("users", func() (stats.Snapshot, bool) {
				return stats.Snapshot{Hits: 1_000_000, Entries: 7}, !gone
			})
			h := r.Handler()
			sleep(31 * time.Second)
			if unregisters {
				unregister()
			}
			gone = true
			r.Caches()
			source := ticking() // which had hits before it is registered
			r.Register("users", func() (stats.Snapshot, bool) { s, ok := source(); s.Hits += 1000; return s, ok })
			if c := show(t, h, 61).Caches[0]; len(c.History) != 0 || c.Windows["5m"].Seconds != 0 || c.Windows["5m"].Hits != 0 {
				t.Errorf("the new cache begins with %+v", c)
			}
			sleep(6 * time.Second) // at 37 s; a point was closed at 35
			c := show(t, h, 61).Caches[0]
			if len(c.History) != 2 || c.History[0].Hits != 12_000 || c.History[1].Hits != 6000 {
				t.Errorf("the points are %+v, want one of 4 s and one of 2", c.History)
			}
			if n := c.Windows["1m"].Hits; n != 18_000 {
				t.Errorf("%d hits in the last minute, want 18,000", n)
			}
		})
	}
}

// TestCountersThatBeginAnew checks that a counter that falls shows 0 for that point, and counts
// on from there.
func TestCountersThatBeginAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r stats.Registry
		s := stats.Snapshot{Hits: 1000}
		r.Register("users", of(&s))
		h := r.Handler()
		for _, s.Hits = range []uint64{1100, 5, 25} {
			sleep(5 * time.Second)
		}
		c := show(t, h, 61).Caches[0]
		var got []uint64
		for _, p := range c.History {
			got = append(got, p.Hits)
		}
		if want := []uint64{100, 0, 20}; !slices.Equal(got, want) {
			t.Errorf("hits %v, want %v", got, want)
		}
		if w := c.Windows["1m"]; w.Hits != 0 || w.GetsPerSecond != 0 {
			t.Errorf("a window over the fall is %+v, want no hits", w)
		}
	})
}

func TestPointsAreANumber(t *testing.T) {
	var r stats.Registry
	r.Register("users", always(stats.Snapshot{}))
	r.RegisterWheel("idle", always(stats.WheelSnapshot{}))
	h := r.Handler()
	for query, status := range map[string]int{
		"?points=0": 200, "?points=61": 200, "?points=2147483647": 200, "?points=": 200, "?other=x": 200,
		"?points=-1": 400, "?points=x": 400, "?points=1.5": 400, "?points=%20": 400,
		"?points=99999999999999999999": 400, "?points=0x10": 400, "?points=%3Cscript%3E": 400,
	} {
		w := serve(h, http.MethodGet, "/stats.json"+query)
		if w.Code != status {
			t.Errorf("%s: status %d, want %d", query, w.Code, status)
		}
		checkSafe(t, query, w.Header())
		if got := w.Header().Get("Content-Type"); status == 400 && got != "text/plain; charset=utf-8" {
			t.Errorf("%s: type %q, want plain text", query, got)
		}
	}
	for query, want := range map[string]int{"": 0, "?points=": 0, "?points=0": 2, "?points=5": 2} { // of the cache and of the wheel
		if got := strings.Count(body(t, h, "/stats.json"+query), `"history":`); got != want {
			t.Errorf("%q: %d histories, want %d", query, got, want)
		}
	}
}
