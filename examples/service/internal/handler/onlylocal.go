package handler

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// OnlyLocal allows requests that come straight from this machine, for
// stats.WithOperators.
//
// That is enough for an example on your own machine. A real service checks its own
// login here: behind a proxy on this machine that adds no header, every request would
// seem local.
//
// The Host of the request must be local too. Otherwise another site could make its own
// name resolve to this machine, and a browser would treat its requests as same-origin.
func OnlyLocal(r *http.Request) error {
	from, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil || !isLocal(from) || !isLocal((&url.URL{Host: r.Host}).Hostname()) {
		return errors.New("only from the machine that the service runs on, by localhost or its address")
	}
	for name := range r.Header {
		if isForwarding(name) {
			return fmt.Errorf("only without a proxy, and the request has the header %s", name)
		}
	}
	return nil
}

func isLocal(host string) bool { return host == "localhost" || net.ParseIP(host).IsLoopback() }

// isForwarding reports whether a header is one that proxies add.
func isForwarding(name string) bool {
	return name == "Forwarded" || name == "Via" || name == "X-Real-Ip" || strings.HasPrefix(name, "X-Forwarded-")
}
