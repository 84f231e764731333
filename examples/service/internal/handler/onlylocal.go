package handler

import (
	"errors"
	"net"
	"net/http"
)

// OnlyLocal allows requests from this machine, for stats.WithPurge.
//
// That is enough for a program to try on one's own machine. Behind a proxy on this
// machine everybody would be local: a real service checks its own login here.
func OnlyLocal(r *http.Request) error {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil || !net.ParseIP(host).IsLoopback() {
		return errors.New("only from the machine that the service runs on")
	}
	return nil
}
