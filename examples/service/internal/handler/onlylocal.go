package handler

import (
	"errors"
	"net"
	"net/http"
	"net/url"
)

// OnlyLocal allows requests from this machine, for stats.WithPurge.
//
// That is enough for a program to try on one's own machine. Behind a proxy on this
// machine everybody would be local: a real service checks its own login here.
//
// The name that was asked for has to be local too: a page of another site can have
// its own name lead to this machine, and then its requests are not those of another
// site to a browser.
func OnlyLocal(r *http.Request) error {
	from, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil || !isLocal(from) || !isLocal((&url.URL{Host: r.Host}).Hostname()) {
		return errors.New("only from the machine that the service runs on, by localhost or its address")
	}
	return nil
}

func isLocal(host string) bool { return host == "localhost" || net.ParseIP(host).IsLoopback() }
