package gozero

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/zeromicro/go-zero/rest"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// Routes returns the routes of a rest server that serve what [stats.Handler] does,
// below any prefix:
//
//	server.AddRoutes(gozero.Routes(), rest.WithPrefix("/cache"))
//
// The page is at /cache/, and /cache leads there; stats.json, metrics and what the
// page is made of are next to it. The links are relative, so a proxy in front may
// put it all below another path, or take one off.
//
// The routes are like any other of the server: they are logged, measured, limited to
// 3 s, and refused when the service is overloaded, which is fine for the page. For
// Prometheus, [MustRegister] is the better way. Who may see the page is for a
// middleware to decide that browsers can pass, such as a login by password or cookie:
// rest.WithJwt asks for a header that they do not send.
//
// What has no route is the server's to answer, in the form of its other answers. POST
// of purge and of record needs [stats.WithPurge]; a recording lasts no longer than the
// server's Timeout, unless rest.WithTimeout sets another for these routes.
func Routes(opts ...stats.HandlerOption) []rest.Route {
	h := stats.Handler(opts...)
	routes := []rest.Route{
		{Method: http.MethodGet, Path: "/", Handler: page(h)},
		{Method: http.MethodHead, Path: "/", Handler: page(h)},
	}
	for _, name := range files {
		routes = append(routes,
			rest.Route{Method: http.MethodGet, Path: "/" + name, Handler: file(h, name)},
			rest.Route{Method: http.MethodHead, Path: "/" + name, Handler: file(h, name)})
	}
	return append(routes,
		rest.Route{Method: http.MethodPost, Path: "/purge", Handler: file(h, "purge")},
		rest.Route{Method: http.MethodPost, Path: "/record", Handler: file(h, "record")})
}

// files are what the handler serves beside the page, and what the page is made of.
var files = []string{"stats.json", "metrics", "page.js", "style.css", "icon.svg"}

// page serves the page below a path that ends in a slash, and leads there from one
// that does not: go-zero's router takes both for the same, but a browser does not
// when it resolves the links of the page.
func page(h http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.EscapedPath()
		if strings.HasSuffix(path, "/") {
			h.ServeHTTP(w, r)
			return
		}
		// Relative as well: the browser may know the page by another path, in front
		// of a proxy. It begins with a dot in case there is a colon in the name.
		w.Header().Set("Location", "./"+path[strings.LastIndexByte(path, '/')+1:]+"/")
		w.WriteHeader(http.StatusFound)
	}
}

// file serves what is next to the page. To go-zero's router a slash behind the name
// makes no difference; to the handler that would be the page.
func file(h http.Handler, name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		named := *r
		named.URL = &url.URL{Path: "/" + name, RawQuery: r.URL.RawQuery}
		h.ServeHTTP(w, &named)
	}
}
