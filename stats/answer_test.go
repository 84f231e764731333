package stats_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/pinwheel-cache/pinwheel/internal/sources"
	"github.com/pinwheel-cache/pinwheel/internal/vitals"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// unzipped returns the body of an answer.
func unzipped(t testing.TB, w *httptest.ResponseRecorder) string {
	t.Helper()
	if w.Header().Get("Content-Encoding") != "gzip" || w.Body.Len() == 0 {
		return w.Body.String()
	}
	zip, err := gzip.NewReader(w.Body)
	must(t, err)
	text, err := io.ReadAll(zip)
	must(t, err)
	return string(text)
}

func TestAnswersAreCompressed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the same time in all answers
		defer stats.SetVitals(vitals.Reading{})()
		var r stats.Registry
		for i := range 100 {
			r.Register("users", always(distinct(uint64(i))))
		}
		h := r.Handler()
		defer stats.SetVitals(vitals.Reading{})()
		for file := range files {
			plain := body(t, h, "/"+file)
			for accepted, zipped := range map[string]bool{
				"gzip": true, "br, GZIP": true, "deflate, gzip;q=0.5": true, "gzip ; q=1": true,
				"": false, "br": false, "gzip;q=0": false, "gzip; q=0.00": false, "xgzip": false,
			} {
				request := httptest.NewRequest(http.MethodGet, "/"+file, nil)
				request.Header.Set("Accept-Encoding", accepted)
				w := answered(h, request)
				if got := w.Header().Get("Content-Encoding") == "gzip"; got != zipped {
					t.Errorf("%q, accepted %q: compressed is %v", file, accepted, got)
				}
				if w.Header().Get("Vary") != "Accept-Encoding" {
					t.Errorf("%q: Vary is %q", file, w.Header().Get("Vary"))
				}
				if size := w.Body.Len(); zipped && len(plain) > 10_000 && size > len(plain)/2 {
					t.Errorf("%q has %d bytes of %d", file, size, len(plain))
				}
				if unzipped(t, w) != plain {
					t.Errorf("%q, accepted %q: another text", file, accepted)
				}
			}
		}
	})
}

// Queries select caches and wheels by name.
func TestSelection(t *testing.T) {
	var r stats.Registry
	var asked atomic.Int64
	for _, name := range []string{"a", "b", "c & d"} {
		r.Register(name, counted(&asked, always(distinct(0))))
		r.RegisterWheel(name, always(distinctWheel(0)))
	}
	h := r.Handler()
	for query, want := range map[string]struct{ caches, wheels []string }{
		"?":                       {[]string{"a", "b", "c & d"}, []string{"a", "b", "c & d"}},
		"?cache=a":                {[]string{"a"}, nil},
		"?wheel=b":                {nil, []string{"b"}},
		"?cache=c+%26+d&cache=a":  {[]string{"a", "c & d"}, nil},
		"?cache=b&wheel=a":        {[]string{"b"}, []string{"a"}},
		"?cache=nobody":           {nil, nil},
		"?cache=":                 {nil, nil},
		"?points=3&cache=a&more=": {[]string{"a"}, nil},
	} {
		asked.Store(0)
		d := readJSONOf(t, h, query)
		if n := int(asked.Load()); n != len(want.caches) {
			t.Errorf("%s: %d caches were asked, want %d", query, n, len(want.caches))
		}
		served := map[string][]string{}
		for s := range samples(t, body(t, h, "/metrics"+query)) {
			served[s.by] = append(served[s.by], s.source)
		}
		check := func(by string, all []map[string]any, want []string) {
			var got []string
			for _, c := range all {
				got = append(got, c["name"].(string))
			}
			slices.Sort(served[by])
			if metrics := slices.Compact(served[by]); !slices.Equal(got, want) || !slices.Equal(metrics, want) {
				t.Errorf("%s: %ss %q, and in metrics %q; want %q", query, by, got, metrics, want)
			}
		}
		check("cache", d.Caches, want.caches)
		check("wheel", d.Wheels, want.wheels)
	}
}

// An answer has 3,000 points at most, or two for each cache.
// sampleAll gives all caches a full history.
func sampleAll(r *stats.Registry) {
	at := time.Now().Add(-305 * time.Second)
	for range 61 {
		r.Sample(at)
		at = at.Add(5 * time.Second)
	}
}

func TestPointsOfManyCaches(t *testing.T) {
	for caches, want := range map[int]int{1: 60, 50: 60, 51: 58, 1000: 3, 2000: 2} {
		synctest.Test(t, func(t *testing.T) {
			r := new(stats.Registry)
			for range caches {
				r.Register("users", always(stats.Snapshot{}))
			}
			sampleAll(r)
			points := func(query string) (n int) {
				for _, c := range readJSONOf(t, r.Handler(), query).Caches {
					n += len(c["history"].([]any))
				}
				return n
			}
			if got := points("?points=61"); got != caches*want {
				t.Errorf("%d caches have %d points, want %d", caches, got, caches*want)
			}
			if got := points("?points=61&cache=users"); got != 60 && (caches < 200 || got < 5) { // of very many, each keeps fewer
				t.Errorf("one of %d caches has %d points, want 60", caches, got)
			}
		})
	}
}

// Texts are cut to 200 bytes, between characters.
func TestLongTextsAreCut(t *testing.T) {
	var r stats.Registry
	long := strings.Repeat("ä", 1<<20)
	first, _ := r.Add(sources.Cache[stats.Snapshot]{Name: long, Snapshot: always(stats.Snapshot{}), HotKeys: func() []sources.HotKey {
		return []sources.HotKey{{Key: "x" + long}, {Key: long[:200]}}
	}})
	second, _ := r.Register(long+"x", always(stats.Snapshot{}))
	if want := long[:200] + "…"; first != want || second != want+"-2" {
		t.Errorf("the names are %q and %q", first, second)
	}
	h := r.Handler()
	keys := readJSON(t, h).Caches[0]["hot_keys"].([]any)
	for i, want := range []string{"x" + long[:198] + "…", long[:200]} {
		if got := keys[i].(map[string]any)["key"]; got != want {
			t.Errorf("key %d is %q, want %q", i, got, want)
		}
	}
	if text := body(t, h, "/metrics"); len(text) > 100_000 || !utf8.ValidString(text) {
		t.Errorf("metrics have %d bytes", len(text))
	}
}

// A slowReader reads an answer in chunks, when the test allows it.
type slowReader struct {
	*httptest.ResponseRecorder
	chunks chan int // size of each, taken before Write returns
}

func (w slowReader) Write(p []byte) (int, error) {
	w.chunks <- len(p)
	return w.ResponseRecorder.Write(p)
}

// An answer is streamed, and a slow client does not delay others.
func TestAnswersAreStreamed(t *testing.T) {
	var r stats.Registry
	var asked atomic.Int64
	for range 1000 {
		_, unregister := r.Register("users", counted(&asked, always(distinct(0))))
		t.Cleanup(unregister) // or samples are taken for ever, beside other tests
	}
	h := r.Handler()
	asked.Store(0)
	var slow []slowReader
	for range 5 {
		w := slowReader{httptest.NewRecorder(), make(chan int)}
		slow = append(slow, w)
		go func() {
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/stats.json", nil))
			close(w.chunks)
		}()
	}
	for _, w := range slow {
		<-w.chunks // one is read, and the next waits
	}
	if n := asked.Load(); n > 5*200 {
		t.Errorf("%d caches were asked for five chunks", n)
	}
	body(t, h, "/stats.json")
	for _, w := range slow {
		for size := range w.chunks {
			if size > 64<<10 {
				t.Errorf("a chunk of %d bytes", size)
			}
		}
		var d document
		if err := json.Unmarshal(w.Body.Bytes(), &d); err != nil || len(d.Caches) != 1000 {
			t.Errorf("%d caches, %v", len(d.Caches), err)
		}
	}
}

// Two answers are computed at once. A client that leaves while it waits gets none.
func TestAnswersTakeTurns(t *testing.T) {
	var r stats.Registry
	h := r.Handler()
	var holding atomic.Bool
	begun, hold := make(chan bool, 100), make(chan bool)
	r.Register("users", func() (stats.Snapshot, bool) {
		if holding.Load() {
			begun <- true
			<-hold
		}
		return stats.Snapshot{}, true
	})
	holding.Store(true)
	ask := func(ctx context.Context, wg *sync.WaitGroup) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		wg.Go(func() { h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/stats.json", nil).WithContext(ctx)) })
		return w
	}
	var first, later sync.WaitGroup
	answered := []*httptest.ResponseRecorder{ask(t.Context(), &first), ask(t.Context(), &first)}
	<-begun
	<-begun
	ctx, leave := context.WithCancel(t.Context())
	var left []*httptest.ResponseRecorder
	for range 8 {
		left = append(left, ask(ctx, &later))
	}
	leave()
	later.Wait() // though the first two are not done
	holding.Store(false)
	close(hold)
	first.Wait()
	if len(begun) > 0 {
		t.Errorf("%d more answers were computed beside the first two", len(begun))
	}
	for _, w := range left {
		if w.Body.Len() > 0 {
			t.Errorf("who left got %q", w.Body)
		}
	}
	for _, w := range append(answered, ask(t.Context(), &later)) {
		later.Wait()
		if !strings.Contains(w.Body.String(), "users") {
			t.Errorf("the answer is %q", w.Body)
		}
	}
}
