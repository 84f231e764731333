package stats

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/pinwheel-cache/pinwheel/internal/sources"
)

// WithOperators makes the handler also serve purge, tune and record. A POST to it removes a key of a cache, all
// keys with a prefix if keys are strings, or all keys:
//
//	curl -d 'cache=users&key=42' http://127.0.0.1:8080/cache/purge
//	curl -d 'cache=users&prefix=tenant7/' http://127.0.0.1:8080/cache/purge
//	curl -d 'cache=users&all=1'  http://127.0.0.1:8080/cache/purge
//
// authorize decides about each such request, except those that a page of another site made
// a browser send, which are refused before. Without HTTPS the handler recognizes these by
// the Host header, which a proxy must pass on as the browser sent it. If authorize returns
// an error, the answer is 403 with its text, and nothing is removed. It must not be nil, and
// must be safe for concurrent use.
//
// authorize also decides about record, which is then served too:
//
//	curl -o users.recording -d 'cache=users&seconds=60&one_in=64' http://127.0.0.1:8080/cache/record
//
// This records the accesses of 60 seconds to one key in 64, with hashes instead of keys, for
// cmd/cachesim. Both numbers may be left out; these are the defaults.
//
// And about tune, which changes options of a cache until the process ends:
//
//	curl -d 'cache=users&max_loads=10&grace=1m&expire=5m&patience=100ms' http://127.0.0.1:8080/cache/tune
//	curl -d 'cache=users&bypass=1' http://127.0.0.1:8080/cache/tune
//
// Each field but cache may be left out; without any, tune only reads. With bypass=1 the cache is emptied, and
// stores nothing until bypass=0; see Tuning in package cache. In a near cache max_loads and bypass can
// be changed, and the latter is of its memory. The answer is JSON with what holds then: {"bypass": false,
// "expire_seconds": 300, "grace_seconds": 60, "max_loads": 10, "patience_seconds": 0.1}; or {"error": "..."}, and
// nothing is changed.
//
// With fleet=1 a purge of a near cache, whose store knows the fleet, is a Revoke, DelPrefix or Clear: it removes from
// the store and from all instances, and may take their MaxLag.
//
// The answer to a purge is JSON: {"removed": 1} with the number of entries removed, 0 if
// the cache does not have the key, or {"error": "..."}. That of a near cache has a "note" too:
// the store still has the values.
func WithOperators(authorize func(*http.Request) error) HandlerOption {
	if authorize == nil {
		panic("stats: WithOperators(nil): want a function that says who may purge")
	}
	return func(h *handler) { h.authorize = authorize }
}

// maxForm bounds the bytes of a request.
const maxForm = 64 << 10

// An operation changes or records a cache. Its fields come in the body, not in the URL, which ends up in logs.
type operation struct {
	why  string // it must be a POST
	want string // of the form
	do   func(w http.ResponseWriter, r *http.Request, name string, c sources.Cache[Snapshot]) *refusal
}

var operations = map[string]operation{
	"purge":  {"a purge changes what is cached", wantPurge, servePurge},
	"tune":   {"options are changed", "want the field cache, and those to change, form-encoded: curl -d 'cache=users&max_loads=10'", serveTune},
	"record": {"a recording is begun", "want the field cache, and perhaps seconds and one_in, form-encoded: curl -d 'cache=users&seconds=60'", serveRecord},
}

// operate does what r asks for, if authorized.
func (h *handler) operate(o operation, w http.ResponseWriter, r *http.Request) *refusal {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if refused := h.mayPost(r, o); refused != nil {
		return refused
	}
	names := r.PostForm["cache"]
	if len(names) != 1 {
		return refuse(http.StatusBadRequest, "%s", o.want)
	}
	c, ok := h.registered.cacheOf(names[0])
	if !ok {
		return refuse(http.StatusNotFound, "there is no cache %q", shorten(names[0]))
	}
	return o.do(w, r, names[0], c)
}

// mayPost reads the form of an authorized POST, or returns a refusal.
func (h *handler) mayPost(r *http.Request, o operation) *refusal {
	if r.Method != http.MethodPost {
		return refuse(http.StatusMethodNotAllowed, "%s: want POST, not %s", o.why, r.Method)
	}
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		return refuse(http.StatusForbidden, "%v", err)
	}
	if err := h.authorize(r); err != nil {
		return refuse(http.StatusForbidden, "%v", err)
	}
	if sent := r.Header.Get("Content-Type"); !strings.HasPrefix(sent, "application/x-www-form-urlencoded") {
		return refuse(http.StatusUnsupportedMediaType, "the body is %q: %s", sent, o.want)
	}
	if err := r.ParseForm(); err != nil {
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			return refuse(http.StatusRequestEntityTooLarge, "the body is too large: want at most %d bytes", tooLarge.Limit)
		}
		return refuse(http.StatusBadRequest, "cannot read the form: %v", err)
	}
	return nil
}

// A refusal tells the client why nothing was done.
type refusal struct {
	status int
	text   string
}

func refuse(status int, format string, args ...any) *refusal {
	return &refusal{status, fmt.Sprintf(format, args...)}
}

// answer sends the refusal, if it is one.
func (refused *refusal) answer(w http.ResponseWriter) {
	if refused == nil {
		return
	}
	if refused.status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", http.MethodPost)
	}
	answerJSON(w, refused.status, map[string]any{"error": refused.text})
}

func answerJSON(w http.ResponseWriter, status int, answer map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer) // it fails when the client has gone
}
