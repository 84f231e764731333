package stats

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
)

// WithHosts allows requests for further names at a loopback address, such as the
// public name of a service behind a proxy on the same machine:
//
//	stats.Handler(stats.WithHosts("stats.example.com"))
//
// Without it the handler answers a request that arrived at a loopback address only
// if its Host is localhost or a loopback address. By DNS rebinding, a page of any site
// can have the browser of a developer send it requests: the name of the site leads to
// 127.0.0.1 for a moment. To the browser the answer is one of that site, which so
// could read keys, and purge. metrics, which has names and numbers only, is served
// under any Host. Elsewhere than at a loopback address, who may see the statistics is
// for authentication to decide.
//
// Names are without port, and in upper or lower case.
func WithHosts(names ...string) HandlerOption {
	return func(h *handler) { h.hosts = append(h.hosts, names...) }
}

// checkHost returns an error if a request may be one of DNS rebinding.
func (h *handler) checkHost(r *http.Request, last string) error {
	at, _ := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if at == nil || !at.IP.IsLoopback() || last == "metrics" {
		return nil
	}
	name := hostname(r.Host)
	if name == "localhost" || strings.HasSuffix(name, ".localhost") || net.ParseIP(name).IsLoopback() {
		return nil
	}
	if slices.ContainsFunc(h.hosts, func(allowed string) bool { return strings.EqualFold(allowed, name) }) {
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
