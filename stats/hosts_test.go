package stats_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// serveAt is serve for a request to a Host that arrived at an address.
func serveAt(h http.Handler, at net.Addr, host, target string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	r.Host = host
	if at != nil {
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, at))
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestForeignHostsAtALoopbackAddress(t *testing.T) {
	loopback := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 6061}
	loopback6 := &net.TCPAddr{IP: net.IPv6loopback, Port: 6061}
	outside := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 6061}
	for _, test := range []struct {
		at      net.Addr
		host    string
		allowed bool
	}{
		{loopback, "127.0.0.1:6061", true},
		{loopback, "127.0.0.1", true},
		{loopback, "127.9.9.9:1", true},
		{loopback, "localhost:6061", true},
		{loopback, "LOCALHOST", true},
		{loopback, "localhost.:6061", true},
		{loopback, "stats.localhost:6061", true},
		{loopback, "[::1]:6061", true},
		{loopback6, "[::1]", true},
		{loopback6, "::1", true},
		{loopback, "stats.example.com", true}, // by the option
		{loopback, "Stats.Example.com:443", true},
		{loopback, "ops.example.com", true},

		{loopback, "evil.example", false},
		{loopback6, "evil.example:6061", false},
		{loopback, "localhost.evil.example", false},
		{loopback, "evillocalhost", false},
		{loopback, "127.0.0.1.evil.example", false},
		{loopback, "192.0.2.1", false},
		{loopback, "0.0.0.0:6061", false},
		{loopback, "", false},

		{outside, "evil.example", true}, // authentication must decide
		{&net.UnixAddr{Name: "/run/stats"}, "evil.example", true},
		{nil, "evil.example", true}, // no server says where it arrived
	} {
		var r stats.Registry
		r.Register("users", always(stats.Snapshot{}))
		asked := false
		h := r.Handler(stats.WithHosts("stats.example.com", "OPS.example.com"), stats.WithPurge(func(*http.Request) error {
			asked = true
			return nil
		}))
		for _, file := range []string{"", "stats.json", "page.js", "purge", "nothing"} {
			w := serveAt(h, test.at, test.host, "/"+file)
			if refused := w.Code == http.StatusForbidden; refused == test.allowed {
				t.Errorf("at %v for %q, %q: status %d", test.at, test.host, file, w.Code)
			}
			if !test.allowed && test.host != "" && !strings.Contains(w.Body.String(), test.host) {
				t.Errorf("the refusal is %q, want the host in it", w.Body)
			}
			checkSafe(t, file, w.Header())
		}
		if asked && !test.allowed {
			t.Errorf("%q: somebody was asked about a purge", test.host)
		}
		if w := serveAt(h, test.at, test.host, "/metrics"); w.Code != http.StatusOK {
			t.Errorf("%q: metrics have status %d", test.host, w.Code)
		}
	}
}
