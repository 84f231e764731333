package main

import (
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Catches: a first start that needs the file, and a second one without the pages of the first.
func TestWarmStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "pages.cache")
		handler, end := newService(t.Context(), path) // there is no file
		page := get(t, handler, "/page/a")
		time.Sleep(7 * time.Minute) // takes no time
		err := end(t.Context())
		handler, end = newService(t.Context(), path)
		if again := get(t, handler, "/page/a"); again != page || err != nil {
			t.Errorf("%v; after a restart %.30q, want %.30q", err, again, page)
		}
		_ = end(t.Context())
	})
}

// Catches: a minute without a save, an eviction without OnRemove, metrics without the cache.
func TestSavesAndEvicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged strings.Builder
		log.SetOutput(&logged)
		defer log.SetOutput(os.Stderr)
		path := filepath.Join(t.TempDir(), "pages.cache")
		handler, end := newService(t.Context(), path)
		for i := range 300 { // more than there is room for, in 90 s
			get(t, handler, fmt.Sprint("/page/", i))
		}
		_, notSaved := os.Stat(path)
		metrics := get(t, handler, "/cache/metrics")
		err := errors.Join(notSaved, end(t.Context())) // end waits for OnRemove
		if err != nil || !strings.Contains(metrics, `cache_puts_total{cache="pages"} 300`) || !strings.Contains(logged.String(), `evicted: "`) {
			t.Errorf("%v\nlog: %s\nmetrics: %s", err, &logged, metrics)
		}
	})
}

func get(t *testing.T, handler http.Handler, path string) string {
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", path, nil))
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	return w.Body.String()
}
