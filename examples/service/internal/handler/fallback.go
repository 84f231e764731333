package handler

import (
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/zeromicro/go-zero/rest"
	"github.com/zeromicro/go-zero/rest/httpx"

	"github.com/pinwheel-cache/pinwheel/examples/service/internal/apierr"
)

// NotFound responds to a path without a route.
func NotFound(w http.ResponseWriter, r *http.Request) {
	httpx.WriteJsonCtx(r.Context(), w, http.StatusNotFound,
		apierr.Body{Error: "there is nothing at " + r.URL.Path + " (GET / lists the routes)"})
}

// NotAllowed returns a handler that responds to a method that the routes of a path do
// not have. It gets the server's routes at the first such request, when all have been
// added.
func NotAllowed(routes func() []rest.Route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var allowed []string
		for _, route := range routes() {
			if matches(route.Path, path.Clean(r.URL.Path)) && !slices.Contains(allowed, route.Method) {
				allowed = append(allowed, route.Method)
			}
		}
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		httpx.WriteJsonCtx(r.Context(), w, http.StatusMethodNotAllowed,
			apierr.Body{Error: r.Method + " is not allowed here, only " + strings.Join(allowed, ", ")})
	}
}

// matches reports whether a route's pattern, such as /users/:id, fits a path.
func matches(pattern, path string) bool {
	want, have := strings.Split(pattern, "/"), strings.Split(path, "/")
	return slices.EqualFunc(want, have, func(w, h string) bool {
		return w == h || strings.HasPrefix(w, ":")
	})
}
