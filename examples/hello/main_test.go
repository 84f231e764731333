package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
)

// A request sees a change at once, and "no such user" is asked for once.
func TestHello(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &database{names: map[int]string{1: "Ann"}}
		users := newCache()
		defer users.Close(t.Context())
		handler := routes(db, users)
		for _, c := range []struct {
			method, path string
			status       int
			want         string
		}{
			{"GET", "/users/1", 200, "Ann\n"},
			{"GET", "/users/1", 200, "Ann\n"},
			{"PUT", "/users/1/Eve", 200, ""},
			{"GET", "/users/1", 200, "Eve\n"},
			{"GET", "/users/7", 404, "no such user\n"},
			{"GET", "/users/7", 404, "no such user\n"},
			{"GET", "/users/x", 400, "an id is a number\n"},
			{"PUT", "/users/x/y", 400, "an id is a number\n"},
		} {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequest(c.method, c.path, http.NoBody))
			if w.Code != c.status || w.Body.String() != c.want {
				t.Errorf("%s %s: %d %q, want %d %q", c.method, c.path, w.Code, w.Body, c.status, c.want)
			}
		}
		if s := users.Stats(); s.Loads.OK.Count() != 3 {
			t.Errorf("%d loads, want 3: Ann, Eve, and that there is no user 7", s.Loads.OK.Count())
		}
	})
}

// The page shows the cache.
func TestPage(t *testing.T) {
	users := newCache()
	defer users.Close(t.Context())
	r := httptest.NewRequest("GET", "/cache/stats.json", http.NoBody)
	r.Host = "127.0.0.1:8080"
	w := httptest.NewRecorder()
	routes(&database{}, users).ServeHTTP(w, r)
	if w.Code != 200 || !strings.Contains(w.Body.String(), `"name":"users"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
