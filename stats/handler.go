package stats

import (
	"bytes"
	"embed"
	"fmt"
	"html"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
)

// Handler returns a handler that serves the statistics of all caches and
// timing wheels of the process: a page, stats.json and metrics. The package
// documentation says where it may be mounted and what it serves. Nil options are
// skipped. The handler is safe for concurrent use; all handlers serve the same.
//
// From the first request for stats.json on, as by the page, it keeps five minutes of history. A sample
// takes some microseconds of each cache and timing wheel, and the history up to 170 KB of memory, but
// at most 60 MB for all caches and as much for all wheels: of more than 300 caches it shows less time.
func Handler(options ...HandlerOption) http.Handler {
	return newHandler(&process, options...)
}

// A HandlerOption changes what a [Handler] does.
type HandlerOption func(*handler)

// A handler serves the statistics of one set of registries.
type handler struct {
	registered *registries
	authorize  func(*http.Request) error // of a purge, a change or a recording; nil if there is none
	hosts      []string                  // further names of this machine; see WithHosts
	errors     bool                      // show the texts of errors
	fleet      *fleet                    // nil without WithPeers
}

func newHandler(registered *registries, options ...HandlerOption) *handler {
	h := &handler{registered: registered}
	for _, set := range options {
		if set != nil {
			set(h)
		}
	}
	return h
}

// contentSecurityPolicy lets the page load its own files and stats.json, and nothing else.
const contentSecurityPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", contentSecurityPolicy)
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")

	last := lastElement(r.URL.Path)
	if err := h.checkHost(r, last); err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	if last != "" && belowFile(r) {
		http.Error(w, fmt.Sprintf("%q is not here: the path has the name of another file before it", last), http.StatusNotFound)
		return
	}
	if o, ok := operations[last]; ok && h.authorize != nil {
		h.operate(o, w, r).answer(w)
		return
	}
	contentType, resource := h.resource(last)
	switch {
	case resource == nil:
		http.Error(w, fmt.Sprintf("there is no %q here: want the page, which has no name, stats.json or metrics", last), http.StatusNotFound)
		return
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		header.Set("Allow", "GET, HEAD")
		http.Error(w, "the statistics are only read: want GET or HEAD, not "+r.Method, http.StatusMethodNotAllowed)
		return
	}
	write, err := resource(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	header.Set("Content-Type", contentType)
	answer(w, r, write)
}

// belowFile reports whether an element of the path before the last begins with the name of a
// file, and is not of the path where http.ServeMux found the handler. What is behind
// /cache/metrics must not be served: a proxy may let all see what begins with that.
func belowFile(r *http.Request) bool {
	dir, _ := path.Split(r.URL.Path)
	if _, mount, ok := strings.Cut(r.Pattern, "/"); ok && dir == "/"+mount {
		return false
	}
	dir = "/" + strings.ToLower(dir)
	return slices.ContainsFunc(files(), func(name string) bool { return strings.Contains(dir, "/"+name) })
}

// assets are the page and what it loads.
//
//go:embed page.html *.js *.css *.svg
var assets embed.FS

// files returns the names of what a handler serves for GET besides the page.
func files() []string {
	names := []string{"stats.json", "metrics", "fleet.json"}
	all, _ := assets.ReadDir(".") // cannot fail: the files are embedded
	for _, asset := range all {
		if asset.Name() != "page.html" {
			names = append(names, asset.Name())
		}
	}
	return names
}

// A resource checks a request and returns the function that writes the answer. An error is
// the client's fault.
type resource func(*http.Request) (write func(io.Writer) error, err error)

// resource returns the resource for the last element of a path, or nil.
func (h *handler) resource(last string) (contentType string, _ resource) {
	switch last {
	case "":
		return "text/html; charset=utf-8", page
	case "stats.json":
		return "application/json", h.json
	case "metrics":
		return "text/plain; version=0.0.4; charset=utf-8", h.metrics
	case "fleet.json":
		if h.fleet != nil {
			return "application/json", h.serveFleet
		}
	case "page.html":
		return "", nil // the page is served at "", where its links are right
	}
	asset, err := fs.ReadFile(assets, last)
	if err != nil {
		return "", nil
	}
	return assetTypes[path.Ext(last)], func(*http.Request) (func(io.Writer) error, error) { return sends(asset), nil }
}

// sends returns the function that writes content.
func sends(content []byte) func(io.Writer) error {
	return func(to io.Writer) error {
		_, err := to.Write(content)
		return err
	}
}

// assetTypes are the content types. Package mime would read them from the machine.
var assetTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

// page is the page, with the prefix of its links.
func page(r *http.Request) (func(io.Writer) error, error) {
	page, err := fs.ReadFile(assets, "page.html")
	return sends(bytes.ReplaceAll(page, []byte("{{dir}}"), []byte(html.EscapeString(linkDir(r))))), err
}

func (h *handler) json(r *http.Request) (func(io.Writer) error, error) {
	h.registered.keepHistory()
	f, err := newForm(r.URL.Query())
	f.purge, f.errors, f.peers = h.authorize != nil, h.errors, h.fleet != nil
	return func(to io.Writer) error { return h.registered.writeJSON(to, f) }, err
}

func (h *handler) metrics(r *http.Request) (func(io.Writer) error, error) {
	if !h.registered.sampling.Load() {
		h.registered.ensure(false, h.registered.tick)
	}
	of := newSelection(r.URL.Query())
	return func(to io.Writer) error { return h.registered.writeMetrics(to, of) }, nil
}

// linkDir returns the prefix of the page's relative links. A browser resolves links
// against the directory of the address, so an address that ends in a slash needs no
// prefix. Behind StripPrefix("/cache") the page is also found at "/cache", with an empty
// path here. Then the prefix is the last element of the address as sent.
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
