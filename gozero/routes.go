package gozero

import (
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/zeromicro/go-zero/rest"
	"github.com/zeromicro/go-zero/rest/pathvar"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// Routes returns the routes of a rest server that serve what [stats.Handler] does,
// below any prefix:
//
//	server.AddRoutes(gozero.Routes(), rest.WithPrefix("/cache"))
//
// The page is at /cache/, and /cache redirects there; stats.json, metrics and the files
// of the page are next to it. The links are relative, so a proxy may add or remove a
// path prefix.
//
// The routes are like any other of the server: they are logged, measured, limited to
// 3 s, and refused when the service is overloaded. That suits the page; for Prometheus
// use [MustRegister]. To restrict access, use a middleware that browsers can pass, such
// as a login by password or cookie: rest.WithJwt requires a header that they do not
// send.
//
// The routes take all names right below the prefix, so no other route should have that. POST of
// purge, of tune and of record needs [stats.WithOperators]. A recording lasts at most the server's
// Timeout, unless rest.WithTimeout sets another for these routes.
func Routes(opts ...stats.HandlerOption) []rest.Route {
	h := stats.Handler(opts...)
	return []rest.Route{
		{Method: http.MethodGet, Path: "/", Handler: page(h)},
		{Method: http.MethodHead, Path: "/", Handler: page(h)},
		{Method: http.MethodGet, Path: "/:file", Handler: file(h)},
		{Method: http.MethodHead, Path: "/:file", Handler: file(h)},
		{Method: http.MethodPost, Path: "/:file", Handler: file(h)},
	}
}

// page serves the page at a path that ends in a slash, and redirects there from one
// that does not. go-zero's router treats both alike, but a browser resolves the page's
// relative links differently.
func page(h http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.EscapedPath()
		if strings.HasSuffix(path, "/") {
			h.ServeHTTP(w, r)
			return
		}
		// Relative as well: behind a proxy, the browser may use another path. The
		// leading dot matters if there is a colon in the name.
		w.Header().Set("Location", "./"+path[strings.LastIndexByte(path, '/')+1:]+"/")
		w.WriteHeader(http.StatusFound)
	}
}

// file serves a file next to the page. go-zero's router ignores a slash after the name,
// but the handler would serve the page for it, so file removes the slash. It also finds a name
// behind dots, as in metrics/../purge, which a proxy that opens metrics must not reach.
func file(h http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if path.Clean(r.URL.Path) != strings.TrimSuffix(r.URL.Path, "/") {
			http.NotFound(w, r)
			return
		}
		named := *r
		named.URL = &url.URL{Path: "/" + pathvar.Vars(r)["file"], RawQuery: r.URL.RawQuery}
		h.ServeHTTP(w, &named)
	}
}
