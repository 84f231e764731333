package gozero_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/zeromicro/go-zero/rest"

	"github.com/pinwheel-cache/pinwheel/gozero"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// serve serves the routes below a prefix, by the router of go-zero with its
// middlewares.
func serve(t *testing.T, prefix string, opts ...stats.HandlerOption) (base string) {
	t.Helper()
	server, err := rest.NewServer(rest.RestConf{Timeout: 3000, Middlewares: rest.MiddlewaresConf{
		Trace: true, Log: true, Prometheus: true, MaxConns: true, Breaker: true, Timeout: true,
		Recover: true, Metrics: true, MaxBytes: true, Gunzip: true,
	}})
	must(t, err)
	newJournal(t)
	server.AddRoutes(gozero.Routes(opts...), rest.WithPrefix(prefix))
	web := httptest.NewServer(handlerOf(server))
	t.Cleanup(web.Close)
	return web.URL
}

// handlerOf returns the handler of a server of go-zero. The option panics in Start before the
// server listens: there is no other way in versions before 1.8 and in later ones.
func handlerOf(server *rest.Server) http.Handler {
	handler := make(chan http.Handler, 1)
	go server.StartWithOpts(func(s *http.Server) {
		handler <- s.Handler
		runtime.Goexit()
	})
	return <-handler
}

// answer is what a request led to.
type answer struct {
	code  int
	at    string // where the redirects ended
	kind  string
	body  string
	moved bool
}

func request(t *testing.T, method, address string) answer {
	t.Helper()
	r, err := http.NewRequest(method, address, nil)
	must(t, err)
	return do(t, r)
}

func do(t *testing.T, r *http.Request) answer {
	t.Helper()
	resp, err := http.DefaultClient.Do(r)
	must(t, err)
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	must(t, err)
	http.DefaultClient.CloseIdleConnections()
	at := resp.Request.URL
	return answer{resp.StatusCode, at.RequestURI(), resp.Header.Get("Content-Type"), string(body), resp.Request != r}
}

func TestRoutes(t *testing.T) {
	base := serve(t, "/cache")
	closed(t, gozero.MustNewCache[string, int](gozero.Conf{Name: "users"}))
	for _, test := range []struct {
		method, path string
		code         int
		kind         string
	}{
		{"GET", "/cache/", 200, "text/html"},
		{"GET", "/cache/stats.json", 200, "application/json"},
		{"GET", "/cache/metrics", 200, "text/plain"},
		{"GET", "/cache/style.css", 200, "text/css"},
		{"GET", "/cache/nothing", 404, ""},
		{"GET", "/cache/stats.json/", 200, "application/json"}, // the router ignores the slash
		{"HEAD", "/cache/stats.json", 200, "application/json"},
		{"GET", "/cache/nothing/", 404, ""},
		{"GET", "/cache/a/b", 404, ""},
		{"GET", "/cache/page.js", 200, "text/javascript"},
		{"GET", "/cache/icon.svg", 200, "image/svg+xml"},
		{"POST", "/cache/stats.json", 405, ""},
		{"GET", "/cache/purge", 404, ""}, // unless it is enabled
		{"POST", "/cache/purge", 404, ""},
		{"POST", "/cache/", 405, ""},
		{"DELETE", "/cache/stats.json", 405, ""},
		{"GET", "/cache/fleet.json", 404, ""}, // unless there are peers
		{"GET", "/cache/page.html", 404, ""},
		{"GET", "/cache/metrics/stats.json", 404, ""},
		{"GET", "/cache/metrics%2Fstats.json", 404, ""},
		{"GET", "/cache/metrics/../stats.json", 404, ""},
	} {
		got := request(t, test.method, base+test.path)
		if got.code != test.code || !strings.HasPrefix(got.kind, test.kind) || got.moved {
			t.Errorf("%s %s: %+v, want %d of %s", test.method, test.path, got, test.code, test.kind)
		}
	}
}

func TestPurge(t *testing.T) {
	base := serve(t, "/cache", stats.WithOperators(func(r *http.Request) error {
		if r.Header.Get("Authorization") == "" {
			return errors.New("who are you?")
		}
		return nil
	}))
	users := closed(t, gozero.MustNewCache[string, int](gozero.Conf{Name: "users"}))
	users.Set("a", 1)
	for _, path := range []string{"/cache/record", "/cache/tune"} {
		if got := request(t, http.MethodPost, base+path); got.code != http.StatusForbidden || !strings.Contains(got.body, "who are you?") {
			t.Errorf("a stranger at %s: %+v", path, got)
		}
	}
	if got := request(t, http.MethodGet, base+"/cache/purge"); got.code != http.StatusMethodNotAllowed {
		t.Errorf("GET of purge: %+v", got)
	}
	if got := request(t, http.MethodPost, base+"/cache/metrics/../purge"); got.code != http.StatusNotFound {
		t.Errorf("POST of purge behind metrics: %+v", got)
	}
	post := func(authorization string) (code int) {
		r, err := http.NewRequest(http.MethodPost, base+"/cache/purge", strings.NewReader("cache=users&key=a"))
		must(t, err)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Authorization", authorization)
		return do(t, r).code
	}
	if code := post(""); code != http.StatusForbidden || users.Len() != 1 {
		t.Errorf("a stranger gets %d, and %d entries are left", code, users.Len())
	}
	if code := post("me"); code != http.StatusOK || users.Len() != 0 {
		t.Errorf("I get %d, and %d entries are left", code, users.Len())
	}
}

// TestPageIsFound checks that the page, and all that it refers to, is found with and without
// the slash, below any prefix, and through a proxy.
func TestPageIsFound(t *testing.T) {
	for _, prefix := range []string{"/cache", "/", "/internal/v1:cache", "/a%3Fb"} {
		t.Run(prefix, func(t *testing.T) {
			routed, err := url.PathUnescape(prefix)
			must(t, err)
			direct := serve(t, routed)
			base, err := url.Parse(direct)
			must(t, err)
			// One proxy has the server below a path, another takes one off.
			below := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(base) }}
			above := httptest.NewServer(http.StripPrefix("/team/app", below))
			t.Cleanup(above.Close)
			for _, at := range []string{direct, above.URL + "/team/app"} {
				pageIsFound(t, at, prefix)
				pageIsFound(t, at, strings.TrimSuffix(prefix, "/")+"/")
			}
		})
	}
}

var links = regexp.MustCompile(`(?:href|src)="([^":]+)"`)

func pageIsFound(t *testing.T, base, path string) {
	t.Helper()
	page := request(t, http.MethodGet, base+path)
	if page.code != http.StatusOK || !strings.HasSuffix(page.at, strings.TrimSuffix(path, "/")+"/") {
		t.Errorf("%s leads to %s: %d", base+path, page.at, page.code)
		return
	}
	at, err := url.Parse(base)
	must(t, err)
	at, err = at.Parse(page.at)
	must(t, err)
	found := links.FindAllStringSubmatch(page.body, -1)
	if len(found) < 3 {
		t.Errorf("the page has %d links:\n%s", len(found), page.body)
	}
	for _, link := range found {
		to, err := at.Parse(link[1])
		must(t, err)
		if got := request(t, http.MethodGet, to.String()); got.code != http.StatusOK {
			t.Errorf("%s refers to %s: %d", at, to, got.code)
		}
	}
}
