package stats

import (
	"bytes"
	_ "embed" // for style.css
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

//go:embed style.css
var styleCSS string

// Handler returns a handler that serves the statistics of all caches and
// timing wheels of the process: a page, stats.json and metrics. The package
// documentation says where it may be mounted and what it serves. It is safe for
// concurrent use, and every call returns an equally good one.
func Handler() http.Handler {
	return newHandler(&process)
}

// A handler serves the statistics of one set of registries.
type handler struct {
	registered *registries

	// page returns the parsed template. It is made with the handler and not in a
	// package variable, which would link the template engine into every program:
	// also into those that count but never call Handler.
	page func() *template.Template
}

func newHandler(registered *registries) *handler {
	return &handler{registered: registered, page: sync.OnceValue(parsePage)}
}

// policy lets the page load its style sheet and nothing else.
const policy = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", policy)
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")

	contentType, render := h.resource(lastElement(r.URL.Path))
	if render == nil {
		http.NotFound(w, r)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		header.Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	// Into a buffer, so that a failure is a clean 500 and HEAD knows the length.
	var body bytes.Buffer
	if err := render(&body, r); err != nil {
		http.Error(w, "cannot render the statistics", http.StatusInternalServerError)
		return
	}
	header.Set("Content-Type", contentType)
	header.Set("Content-Length", strconv.Itoa(body.Len()))
	if r.Method == http.MethodGet {
		_, _ = w.Write(body.Bytes()) // it fails when the client has gone
	}
}

// resource returns what is served under the given last element of a path; render
// is nil if nothing is.
func (h *handler) resource(last string) (contentType string, render func(*bytes.Buffer, *http.Request) error) {
	switch last {
	case "":
		return "text/html; charset=utf-8", h.renderPage
	case "style.css":
		return "text/css; charset=utf-8", renderStyle
	case "stats.json":
		return "application/json", h.renderJSON
	case "metrics":
		return "text/plain; version=0.0.4; charset=utf-8", h.renderMetrics
	}
	return "", nil
}

func (h *handler) renderPage(body *bytes.Buffer, r *http.Request) error {
	p := newPage(h.registered.caches.all(), h.registered.wheels.all(), linkDir(r), time.Now())
	return h.page().Execute(body, p)
}

func renderStyle(body *bytes.Buffer, _ *http.Request) error {
	body.WriteString(styleCSS)
	return nil
}

func (h *handler) renderJSON(body *bytes.Buffer, _ *http.Request) error {
	return writeJSON(body, h.registered.caches.all(), h.registered.wheels.all(), time.Now())
}

func (h *handler) renderMetrics(body *bytes.Buffer, _ *http.Request) error {
	body.Write(appendMetrics(body.AvailableBuffer(), h.registered.caches.all(), h.registered.wheels.all()))
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
