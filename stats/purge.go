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
// be changed, and the latter is of its memory. The answer is JSON with what holds then: {"expire_seconds": 300,
// "grace_seconds": 60, "patience_seconds": 0.1, "max_loads": 10, "bypass": false}; or {"error": "..."}, and
// nothing is changed.
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

// A refusal tells the client why nothing was done.
type refusal struct {
	status int
	text   string
}

func refuse(status int, format string, args ...any) *refusal {
	return &refusal{status, fmt.Sprintf(format, args...)}
}

// answer sends the refusal.
func (refused *refusal) answer(w http.ResponseWriter) {
	if refused.status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", http.MethodPost)
	}
	answerJSON(w, refused.status, struct {
		Error string `json:"error"`
	}{refused.text})
}

func answerJSON(w http.ResponseWriter, status int, answer any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer) // it fails when the client has gone
}

func (h *handler) servePurge(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	removed, refused := h.purge(r)
	if refused != nil {
		refused.answer(w)
		return
	}
	note := ""
	if c, ok := h.registered.cacheOf(r.PostForm.Get("cache")); ok {
		if s, ok := c.Snapshot(); ok && s.Near.exists() {
			note = "From the memory of this instance only: the store still has the values, and the next read brings them back. Del removes them for all."
		}
	}
	answerJSON(w, http.StatusOK, struct {
		Removed int    `json:"removed"`
		Note    string `json:"note,omitempty"`
	}{removed, note})
}

// mayPost reads the form of an authorized POST, or returns a refusal. Its texts say why the
// request must be a POST, and which form it wants.
func (h *handler) mayPost(r *http.Request, why, want string) (refused *refusal) {
	if r.Method != http.MethodPost {
		return refuse(http.StatusMethodNotAllowed, "%s: want POST, not %s", why, r.Method)
	}
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		return refuse(http.StatusForbidden, "%v", err)
	}
	if err := h.authorize(r); err != nil {
		return refuse(http.StatusForbidden, "%v", err)
	}
	if sent := r.Header.Get("Content-Type"); !strings.HasPrefix(sent, "application/x-www-form-urlencoded") {
		return refuse(http.StatusUnsupportedMediaType, "the body is %q: %s", sent, want)
	}
	if err := r.ParseForm(); err != nil {
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			return refuse(http.StatusRequestEntityTooLarge, "the body is too large: want at most %d bytes", tooLarge.Limit)
		}
		return refuse(http.StatusBadRequest, "cannot read the form: %v", err)
	}
	return nil
}

// purge does what r asks for, if authorized, and returns how many entries it removed.
func (h *handler) purge(r *http.Request) (removed int, refused *refusal) {
	const want = "want the fields cache and key, cache and prefix, or cache and all=1, form-encoded: curl -d 'cache=users&key=42'"
	if refused := h.mayPost(r, "a purge changes what is cached", want); refused != nil {
		return 0, refused
	}
	// Not from the URL, which ends up in logs.
	names, keys, prefixes, all := r.PostForm["cache"], r.PostForm["key"], r.PostForm["prefix"], r.PostForm["all"]
	if len(names) != 1 || len(keys)+len(prefixes)+len(all) != 1 || len(all) == 1 && all[0] != "1" {
		return 0, refuse(http.StatusBadRequest, want)
	}
	name := names[0]
	c, ok := h.registered.cacheOf(name)
	if !ok {
		return 0, refuse(http.StatusNotFound, "there is no cache %q", shorten(name))
	}
	switch {
	case len(all) == 1 && c.PurgeAll == nil:
		return 0, refuse(http.StatusBadRequest, "cache %q cannot be purged", name)
	case len(all) == 1:
		return c.PurgeAll(), nil
	case len(prefixes) == 1 && c.PurgePrefix == nil:
		return 0, refuse(http.StatusBadRequest, "keys of cache %q are not strings, and have no prefix", name)
	case len(prefixes) == 1 && prefixes[0] == "":
		return 0, refuse(http.StatusBadRequest, "prefix is empty: want how the keys begin, or all=1 for all of them")
	case len(prefixes) == 1:
		return c.PurgePrefix(prefixes[0]), nil
	case c.Purge == nil:
		return 0, refuse(http.StatusBadRequest, "keys of cache %q cannot be written as text", name)
	}
	removed, err := c.Purge(keys[0])
	if err != nil {
		return 0, refuse(http.StatusBadRequest, "%v", err)
	}
	return removed, nil
}

// cacheOf returns the source of the cache with a name.
func (r *registries) cacheOf(name string) (c sources.Cache[Snapshot], ok bool) {
	r.caches.mu.Lock()
	defer r.caches.mu.Unlock()
	reg := r.caches.byName[name]
	if reg == nil {
		return c, false
	}
	return reg.cache, true
}
