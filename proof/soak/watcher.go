package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// A watcher asks stats.Handler all the time, as a monitoring system does, and checks its
// answers.
type watcher struct {
	failed  *failure
	handler http.Handler
	before  map[string]shown // by name of the cache
	answers atomic.Int64
}

func newWatcher(f *failure) *watcher {
	return &watcher{failed: f, handler: stats.Handler(), before: make(map[string]shown)}
}

// shown is a cache in stats.json.
type shown struct {
	Name               string
	Hits, Misses, Sets uint64
	HitRatio           float64 `json:"hit_ratio"`
	MissesAbsent       uint64  `json:"misses_absent"`
	MissesExpired      uint64  `json:"misses_expired"`
	MissesEvicted      uint64  `json:"misses_evicted"`
	Entries, Weight    uint64
	MaxWeight          uint64 `json:"max_weight"`
	Removals           struct{ Expired, Evicted, Deleted, Replaced, Cleared uint64 }
	Windows            map[string]struct{ Gets, Hits, Misses uint64 }
}

func (w *watcher) watch(ctx context.Context) {
	for ctx.Err() == nil {
		w.json()
		w.metrics()
		w.ask("/cache/", "text/html")
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// ask returns an answer of the handler.
func (w *watcher) ask(path, contentType string) string {
	answer := httptest.NewRecorder()
	w.handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
	if answer.Code != http.StatusOK || !strings.HasPrefix(answer.Header().Get("Content-Type"), contentType) {
		w.wrong("%s: status %d, %s", path, answer.Code, answer.Header().Get("Content-Type"))
	}
	w.answers.Add(1)
	return answer.Body.String()
}

func (w *watcher) json() {
	var document struct{ Caches []shown }
	if err := json.Unmarshal([]byte(w.ask("/cache/stats.json?points=61", "application/json")), &document); err != nil {
		w.wrong("stats.json: %v", err)
	}
	last := ""
	for _, c := range document.Caches {
		if c.Name <= last {
			w.wrong("stats.json: cache %q comes after %q", c.Name, last)
		}
		last = c.Name
		if wrong := c.wrong(); wrong != "" {
			w.wrong("stats.json, cache %q: %s", c.Name, wrong)
		}
		if strings.HasPrefix(c.Name, shortName) {
			continue // another may have the name by now
		}
		if b := w.before[c.Name]; c.Hits < b.Hits || c.Misses < b.Misses || c.Sets < b.Sets {
			w.wrong("stats.json, cache %q: a counter fell: %+v, before %+v", c.Name, c, b)
		}
		w.before[c.Name] = c
	}
}

// wrong returns what is wrong with the numbers of one cache.
func (c *shown) wrong() string {
	r := c.Removals
	removed := r.Expired + r.Evicted + r.Deleted + r.Replaced + r.Cleared
	switch {
	case c.Misses != c.MissesAbsent+c.MissesExpired+c.MissesEvicted:
		return fmt.Sprintf("%d misses, of which %d, %d and %d", c.Misses, c.MissesAbsent, c.MissesExpired, c.MissesEvicted)
	case c.Sets != removed+c.Entries:
		return fmt.Sprintf("%d sets, %d removals, %d entries", c.Sets, removed, c.Entries)
	case c.Weight > c.MaxWeight:
		return fmt.Sprintf("weight %d of %d", c.Weight, c.MaxWeight)
	case c.HitRatio < 0 || c.HitRatio > 1:
		return fmt.Sprintf("hit ratio %v", c.HitRatio)
	}
	for name, x := range c.Windows {
		if x.Gets != x.Hits+x.Misses {
			return fmt.Sprintf("window %s: %d gets, %d hits, %d misses", name, x.Gets, x.Hits, x.Misses)
		}
	}
	return ""
}

// metrics checks that all lines are of the exposition format.
func (w *watcher) metrics() {
	for line := range strings.Lines(w.ask("/cache/metrics", "text/plain")) {
		if line = strings.TrimSuffix(line, "\n"); strings.HasPrefix(line, "#") {
			continue
		}
		var value float64
		if _, number, ok := strings.Cut(line, "} "); !ok {
			w.wrong("metrics: %q", line)
		} else if _, err := fmt.Sscan(number, &value); err != nil || value < 0 {
			w.wrong("metrics: %q", line)
		}
	}
}

func (w *watcher) wrong(format string, args ...any) {
	w.failed.report(violation{Subject: "stats.Handler", What: fmt.Sprintf(format, args...)})
}
