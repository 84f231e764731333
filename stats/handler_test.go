package stats_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// files are what a handler serves below its prefix, with the type of each.
var files = map[string]string{
	"":           "text/html; charset=utf-8",
	"stats.json": "application/json",
	"metrics":    "text/plain; version=0.0.4; charset=utf-8",
	"style.css":  "text/css; charset=utf-8",
	"icon.svg":   "image/svg+xml",
}

func init() {
	scripts, _ := filepath.Glob("*.js") // the pattern is well-formed
	for _, name := range scripts {
		files[name] = "text/javascript; charset=utf-8"
	}
}

func serve(h http.Handler, method, target string) *httptest.ResponseRecorder {
	return answered(h, httptest.NewRequest(method, target, nil))
}

// answered returns what h answers to a request.
func answered(h http.Handler, request *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, request)
	return w
}

// body returns what h answers to a GET of target, which must succeed.
func body(t testing.TB, h http.Handler, target string) string {
	t.Helper()
	w := serve(h, http.MethodGet, target)
	if w.Code != http.StatusOK {
		t.Fatalf("GET %s: status %d, want 200", target, w.Code)
	}
	return w.Body.String()
}

// Whatever the mount and whatever a proxy puts in front, all files are served, and the links of
// the page lead to them as a browser resolves them.
func TestHandlerServesBelowAnyPrefix(t *testing.T) {
	var r stats.Registry
	h := r.Handler(nil, stats.WithOperators(anybody), nil)                 // nil is skipped
	odd := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // StripPrefix cannot
		r.URL.Path, r.URL.RawPath = strings.TrimPrefix(r.URL.Path, `/a b:c/"`), ""
		h.ServeHTTP(w, r)
	})
	for _, test := range []struct {
		page, dir string // as sent to the handler, and where the files are
		handler   http.Handler
	}{
		{"/", "/", h},
		{"/cache/", "/cache/", h},
		{"/cache/?x=a/b", "/cache/", h},
		{"/debug/a.b/%2F/statistics/", "/debug/a.b/%2F/statistics/", h},
		{"/metrics/page.js/", "/metrics/page.js/", mounted("/metrics/page.js/", h)}, // like a file
		{"/metrics/", "/metrics/", mounted("example.com/metrics/", h)},              // of a host
		{"/cache/", "/cache/", http.StripPrefix("/cache", h)},
		{"/cache/", "/cache/", http.StripPrefix("/cache/", h)},
		{"/debug/cache", "/debug/cache/", http.StripPrefix("/debug/cache", h)}, // no slash at the end
		{"/a%20b:c%2F%22", "/a%20b:c%2F%22/", odd},
	} {
		if w := serve(test.handler, http.MethodGet, test.dir+"purge"); w.Header().Get("Allow") != http.MethodPost {
			t.Errorf("%s: purge is not found: status %d", test.page, w.Code)
		}
		for file, contentType := range files {
			w := serve(test.handler, http.MethodGet, test.dir+file)
			if got := w.Header().Get("Content-Type"); w.Code != http.StatusOK || got != contentType {
				t.Errorf("%s: %q: status %d, Content-Type %q, want %q", test.page, file, w.Code, got, contentType)
			}
		}
		page := links.FindAllStringSubmatch(body(t, test.handler, test.page), -1)
		for _, proxy := range []string{"", "/behind/a/proxy"} {
			base, err := url.Parse("http://example.com" + proxy + test.page)
			must(t, err)
			var got []string
			for _, link := range page {
				if strings.HasPrefix(link[1], "#") {
					continue // a view of the page itself
				}
				to, err := base.Parse(link[1])
				must(t, err)
				got = append(got, to.EscapedPath())
			}
			dir := proxy + test.dir
			slices.Sort(got)
			got = slices.Compact(got)
			if want := []string{dir + "icon.svg", dir + "metrics", dir + "page.js", dir + "stats.json", dir + "style.css"}; !slices.Equal(got, want) {
				t.Errorf("%s%s: links lead to %q, want %q", proxy, test.page, got, want)
			}
		}
	}
}

// mounted is how http.ServeMux serves h.
func mounted(pattern string, h http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(pattern, h)
	return mux
}

// TestNothingIsServedBelowAFile: a proxy, or a middleware, that lets all see what begins with
// /cache/metrics shows and allows nothing else.
func TestNothingIsServedBelowAFile(t *testing.T) {
	var r stats.Registry
	h := r.Handler(stats.WithOperators(anybody))
	for name, h := range map[string]http.Handler{
		"by itself": h, "ServeMux": mounted("/cache/", h), "StripPrefix": http.StripPrefix("/cache", h),
		"below a file": mounted("/cache/metrics/", http.StripPrefix("/cache/metrics", h)),
	} {
		for _, dir := range []string{"/cache/metrics/", "/cache/metricsx/", "/cache/METRICS;x/", "/cache/metrics%2F", "/cache/x/metrics/../", "/cache/style.css/", "/cache/stats.json/", "/cache/fleet.json/"} {
			if name == "below a file" {
				dir = "/cache/metrics" + strings.TrimPrefix(dir, "/cache")
			}
			for file := range files {
				if w := serve(h, http.MethodGet, dir+file); file != "" && w.Code < 300 {
					t.Errorf("%s: %s is served", name, dir+file)
				}
			}
			for _, does := range []string{"purge", "record"} {
				if w := serve(h, http.MethodPost, dir+does); w.Code != http.StatusNotFound && w.Code/100 != 3 { // a ServeMux of Go 1.25 redirects by 301, later ones by 307
					t.Errorf("%s: %s has status %d", name, dir+does, w.Code)
				}
			}
		}
	}
}

var links = regexp.MustCompile(`(?:href|src)="([^"]*)"`)

func TestHandlerKnowsNoOtherPath(t *testing.T) {
	var r stats.Registry
	for _, target := range []string{"/x", "/cache", "/metrics/x", "/page.html", "/stats.json.gz", "/Metrics", "/purge", "/page.js/x", "/.", "/..", "/doc.go", "/%2e"} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			w := serve(r.Handler(), method, target)
			if w.Code != http.StatusNotFound {
				t.Errorf("%s %s: status %d, want 404", method, target, w.Code)
			}
			checkSafe(t, target, w.Header())
		}
	}
}

// TestHandlerOnlyReads checks that a handler answers GET and HEAD, and no other method, safely.
func TestHandlerOnlyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the same time in all answers
		var r stats.Registry
		r.Register("users", always(distinct(0)))
		r.RegisterWheel("users", always(distinctWheel(0)))
		for file := range files {
			get := serve(r.Handler(), http.MethodGet, "/cache/"+file)
			checkSafe(t, file, get.Header())
			head := serve(r.Handler(), http.MethodHead, "/cache/"+file)
			if head.Code != http.StatusOK || head.Body.Len() != 0 || !reflect.DeepEqual(head.Header(), get.Header()) {
				t.Errorf("HEAD %q: status %d, %d bytes, header %v; want no body and the header of GET, %v", file, head.Code, head.Body.Len(), head.Header(), get.Header())
			}
			for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions, "BREW"} {
				w := serve(r.Handler(), method, "/cache/"+file)
				if got := w.Header().Get("Allow"); w.Code != http.StatusMethodNotAllowed || got != "GET, HEAD" {
					t.Errorf("%s %q: status %d, Allow %q; want 405 and GET, HEAD", method, file, w.Code, got)
				}
				checkSafe(t, file, w.Header())
			}
		}
	})
}

// policy is the Content-Security-Policy of every answer, which browsers enforce. The page needs
// no more.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// checkSafe checks the headers that every answer must have.
func checkSafe(t testing.TB, what string, header http.Header) {
	t.Helper()
	for name, value := range map[string]string{
		"Cache-Control":           "no-store",
		"X-Content-Type-Options":  "nosniff",
		"Referrer-Policy":         "no-referrer",
		"Content-Security-Policy": policy,
	} {
		if got := header.Values(name); len(got) != 1 || got[0] != value {
			t.Errorf("%q: %s is %q, want %q", what, name, got, value)
		}
	}
}
