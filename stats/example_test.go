package stats_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/sources"
	"github.com/pinwheel-cache/pinwheel/stats"
)

func ExampleHandler() {
	_, unregister := sources.Register(sources.Cache[stats.Snapshot]{
		Name: "users",
		Snapshot: func() (stats.Snapshot, bool) {
			return stats.Snapshot{Hits: 90, Misses: 10}, true
		},
	})
	defer unregister()

	mux := http.NewServeMux()
	mux.Handle("/cache/", stats.Handler())

	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, httptest.NewRequest("GET", "/cache/metrics", nil))
	for line := range strings.Lines(answer.Body.String()) {
		if strings.Contains(line, "cache_gets_total") {
			fmt.Print(line)
		}
	}
	// Output:
	// # HELP cache_gets_total Lookups, by whether they found a value.
	// # TYPE cache_gets_total counter
	// cache_gets_total{cache="users",result="hit"} 90
	// cache_gets_total{cache="users",result="miss"} 10
}

func ExampleWithOperators() {
	var users sync.Map // stands for a cache
	users.Store("42", "Ada")
	_, unregister := sources.Register(sources.Cache[stats.Snapshot]{
		Name:     "users",
		Snapshot: func() (stats.Snapshot, bool) { return stats.Snapshot{}, true },
		Purge: func(key string) (removed int, err error) {
			if _, found := users.LoadAndDelete(key); found {
				removed = 1
			}
			return removed, nil
		},
	})
	defer unregister()

	// Middleware around the page decides who may see it. This function decides who may purge.
	handler := stats.Handler(stats.WithOperators(func(r *http.Request) error {
		if user, password, _ := r.BasicAuth(); user != "admin" || password != "secret" {
			return errors.New("only admin may purge")
		}
		return nil
	}))

	for _, user := range []string{"guest", "admin"} {
		request := httptest.NewRequest("POST", "/cache/purge", strings.NewReader("cache=users&key=42"))
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.SetBasicAuth(user, "secret")
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		fmt.Print(user, ": ", answer.Code, " ", answer.Body)
	}
	// Output:
	// guest: 403 {"error":"only admin may purge"}
	// admin: 200 {"removed":1}
}

func ExampleSnapshot_Minus() {
	aMinuteAgo := stats.Snapshot{Hits: 1000, Misses: 1000, Entries: 500}
	now := stats.Snapshot{Hits: 1090, Misses: 1010, Entries: 510}

	lastMinute := now.Minus(aMinuteAgo)
	fmt.Println(lastMinute.Gets(), "gets in the last minute")
	fmt.Printf("%.1f %% of them hits, %.1f %% since the beginning\n",
		100*lastMinute.HitRatio(), 100*now.HitRatio())
	fmt.Println(lastMinute.Entries, "entries now")
	// Output:
	// 100 gets in the last minute
	// 90.0 % of them hits, 51.9 % since the beginning
	// 510 entries now
}

// What a collector of your own does: it sends each number of each cache somewhere.
func ExampleMetrics() {
	s := stats.Snapshot{Hits: 3, Misses: 1}
	for _, m := range stats.Metrics[stats.Snapshot]()[:2] {
		for label, v := range m.Values(&s, time.Now()) {
			fmt.Printf("%s, %s %q: %v\n", m.Name, m.Attribute, label, v)
		}
	}
	// Output:
	// cache_gets_total, pinwheel.cache.get.result "hit": 3
	// cache_gets_total, pinwheel.cache.get.result "miss": 1
	// cache_misses_total, pinwheel.cache.miss.reason "absent": 1
	// cache_misses_total, pinwheel.cache.miss.reason "expired": 0
	// cache_misses_total, pinwheel.cache.miss.reason "evicted": 0
}
