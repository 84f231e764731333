package stats

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
)

// WithHosts allows further Host names at a loopback address, such as the public name of a
// service behind a proxy on the same machine:
//
//	stats.Handler(stats.WithHosts("stats.example.com"))
//
// Without it the handler answers a request that arrived at a loopback address only if its
// Host is localhost or a loopback address. Otherwise any site could use DNS rebinding: its
// name resolves to 127.0.0.1 for a moment, so the browser of a developer sends requests
// here and takes the answers for those of the site, which could read keys, and purge.
// metrics, which has names and numbers only, is served under any Host. At other addresses
// authentication must decide who may see the statistics.
//
// Names have no port; case does not matter.
func WithHosts(names ...string) HandlerOption {
	return func(h *handler) { h.hosts = append(h.hosts, names...) }
}

// checkHost returns an error for a request that may come from DNS rebinding.
func (h *handler) checkHost(r *http.Request, last string) error {
	at, _ := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if at == nil || !at.IP.IsLoopback() || last == "metrics" {
		return nil
	}
	name := hostname(r.Host)
	local := name == "localhost" || strings.HasSuffix(name, ".localhost") || net.ParseIP(name).IsLoopback()
	if local || slices.ContainsFunc(h.hosts, func(allowed string) bool { return strings.EqualFold(allowed, name) }) {
		return nil
	}
	return fmt.Errorf("the statistics are at a loopback address, and asked for as %q: want localhost, or allow the name by stats.WithHosts(%q)", r.Host, name)
}

// hostname returns a Host without its port, in lower case.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]") // of IPv6 without a port
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
