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

func TestForeignHostsAtALoopbackAddress(t *testing.T) {
	var r stats.Registry
	r.Register("users", always(stats.Snapshot{}))
	asked := false
	h := r.Handler(stats.WithHosts("stats.example.com", "OPS.example.com"), stats.WithOperators(func(*http.Request) error {
		asked = true
		return nil
	}))
	loopback, loopback6, outside := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, &net.TCPAddr{IP: net.IPv6loopback}, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}
	for _, test := range []struct {
		at      net.Addr // where the request arrived
		allowed bool
		hosts   []string
	}{
		{loopback, true, []string{"127.0.0.1:6061", "127.0.0.1", "127.9.9.9:1", "localhost:6061", "LOCALHOST", "localhost.:6061", "stats.localhost:6061", "[::1]:6061"}},
		{loopback6, true, []string{"[::1]", "::1"}},
		{loopback, true, []string{"stats.example.com", "Stats.Example.com:443", "ops.example.com"}}, // by the option
		{loopback, false, []string{"evil.example", "localhost.evil.example", "evillocalhost", "127.0.0.1.evil.example", "192.0.2.1", "0.0.0.0:6061", ""}},
		{loopback6, false, []string{"evil.example:6061"}},
		{outside, true, []string{"evil.example"}}, // authentication must decide
		{&net.UnixAddr{Name: "/run/stats"}, true, []string{"evil.example"}},
		{nil, true, []string{"evil.example"}}, // no server says where it arrived
	} {
		for _, host := range test.hosts {
			asked = false
			for _, file := range []string{"", "stats.json", "fleet.json", "page.js", "purge", "nothing", "metrics"} {
				request := httptest.NewRequest(http.MethodGet, "/"+file, nil)
				request.Host = host
				if test.at != nil {
					request = request.WithContext(context.WithValue(request.Context(), http.LocalAddrContextKey, test.at))
				}
				w := answered(h, request)
				allowed := test.allowed || file == "metrics"
				if (w.Code != http.StatusForbidden) != allowed {
					t.Errorf("at %v for %q, %q: status %d", test.at, host, file, w.Code)
				}
				if !allowed && !strings.Contains(w.Body.String(), host) {
					t.Errorf("the refusal is %q, want the host in it", w.Body)
				}
				checkSafe(t, file, w.Header())
			}
			if asked && !test.allowed {
				t.Errorf("%q: somebody was asked about a purge", host)
			}
		}
	}
}
