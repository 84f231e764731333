package stats

import (
	"bytes"
	"embed"
	"fmt"
	"html"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
)

// Handler returns a handler that serves the statistics of all caches and
// timing wheels of the process: a page, stats.json and metrics. The package
// documentation says where it may be mounted and what it serves. It is safe for
// concurrent use, and every call returns an equally good one.
//
// From the first call on, every cache and timing wheel is asked for its numbers
// every five seconds, which takes some microseconds for each, so that the page has
// the last five minutes to show when somebody opens it. The numbers take up to
// 75 KB for each.
func Handler(options ...HandlerOption) http.Handler {
	return newHandler(&process, options...)
}

// A HandlerOption changes what a [Handler] does.
type HandlerOption func(*handler)

// A handler serves the statistics of one set of registries.
type handler struct {
	registered *registries
	authorize  func(*http.Request) error // of a purge; nil if there is none
}

func newHandler(registered *registries, options ...HandlerOption) *handler {
	h := &handler{registered: registered}
	for _, set := range options {
		set(h)
	}
	registered.keepHistory()
	return h
}

// policy lets the page load its own files and stats.json, and nothing else.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.registered.keepHistory()
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", policy)
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")

	last := lastElement(r.URL.Path)
	if last == "purge" && h.authorize != nil {
		h.servePurge(w, r)
		return
	}
	contentType, render := h.resource(last)
	if render == nil {
		http.NotFound(w, r)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		header.Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	// Into a buffer, so that a failure is a clean answer and HEAD knows the length.
	var body bytes.Buffer
	if err := render(&body, r); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	header.Set("Content-Type", contentType)
	header.Set("Content-Length", strconv.Itoa(body.Len()))
	if r.Method == http.MethodGet {
		_, _ = w.Write(body.Bytes()) // it fails when the client has gone
	}
}

// assets are the page and what it loads.
//
//go:embed page.html *.js *.css *.svg
var assets embed.FS

// resource returns what is served under the given last element of a path; render
// is nil if nothing is. An error of render is the client's fault.
func (h *handler) resource(last string) (contentType string, render func(*bytes.Buffer, *http.Request) error) {
	switch last {
	case "":
		return "text/html; charset=utf-8", renderPage
	case "stats.json":
		return "application/json", h.renderJSON
	case "metrics":
		return "text/plain; version=0.0.4; charset=utf-8", h.renderMetrics
	}
	if last == "page.html" {
		return "", nil // it is at "", with its links
	}
	asset, err := fs.ReadFile(assets, last)
	if err != nil {
		return "", nil
	}
	return assetTypes[path.Ext(last)], func(body *bytes.Buffer, _ *http.Request) error {
		body.Write(asset)
		return nil
	}
}

// assetTypes are not asked of package mime, which asks the machine.
var assetTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

// renderPage writes the page, with what its links begin with.
func renderPage(body *bytes.Buffer, r *http.Request) error {
	page, err := fs.ReadFile(assets, "page.html")
	body.WriteString(strings.ReplaceAll(string(page), "{{dir}}", html.EscapeString(linkDir(r))))
	return err
}

func (h *handler) renderJSON(body *bytes.Buffer, r *http.Request) error {
	f := noHistory
	f.purge = h.authorize != nil
	if asked := r.URL.Query().Get("points"); asked != "" {
		points, err := strconv.Atoi(asked)
		if err != nil || points < 0 {
			return fmt.Errorf("points is %q: want how many points of history, from 0 to %d", asked, kept+1)
		}
		f.points = min(points, kept+1)
	}
	return h.registered.writeJSON(body, f)
}

func (h *handler) renderMetrics(body *bytes.Buffer, _ *http.Request) error {
	body.Write(h.registered.appendMetrics(body.AvailableBuffer()))
	return nil
}

// linkDir returns what the page puts before its relative links. A browser
// resolves them against the directory of the address it asked for, so nothing is
// needed if that ends in a slash. It may not: behind StripPrefix("/cache") the
// page is also found at "/cache", which is seen here as an empty path. Then the
// links must name the last element of the address as sent.
func linkDir(r *http.Request) string {
	sent, err := url.ParseRequestURI(r.RequestURI)
	if err != nil {
		return "" // not a request from a server
	}
	last := lastElement(sent.EscapedPath())
	if last == "" {
		return ""
	}
	return "./" + last + "/"
}

// lastElement returns what follows the last slash of path.
func lastElement(path string) string {
	return path[strings.LastIndexByte(path, '/')+1:]
}
