package stats_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// severities returns the causes that a handler shows of the cache users, with what each is.
func severities(t *testing.T, options ...stats.HandlerOption) string {
	t.Helper()
	var r stats.Registry
	r.Add(stats.CacheSource{Name: "users", Snapshot: always(stats.Snapshot{
		HottestShare: 0.5, Callbacks: stats.Callbacks{Running: 1, Oldest: 1e12},
	})})
	var all []string
	for _, f := range readJSON(t, r.Handler(options...)).Caches[0]["findings"].([]any) {
		f := f.(map[string]any)
		all = append(all, f["cause"].(string)+": "+f["severity"].(string))
	}
	return strings.Join(all, ", ")
}

// Catches: an accepted finding that still counts or comes first, and one of another cache
// that is accepted with it.
func TestWithAccepted(t *testing.T) {
	for _, test := range []struct {
		options []stats.HandlerOption
		want    string
	}{
		{nil, "callbacks hang: trouble, one hot key: advice"},
		{[]stats.HandlerOption{stats.WithAccepted("orders", "one hot key")}, "callbacks hang: trouble, one hot key: advice"},
		{[]stats.HandlerOption{stats.WithAccepted("users", "one hot key")}, "callbacks hang: trouble, one hot key: accepted"},
		{[]stats.HandlerOption{stats.WithAccepted("users", "callbacks hang", "new")}, "one hot key: advice, callbacks hang: accepted"},
		{[]stats.HandlerOption{stats.WithAccepted("users", "callbacks hang"), stats.WithAccepted("users", "one hot key")},
			"callbacks hang: accepted, one hot key: accepted"},
	} {
		if got := severities(t, test.options...); got != test.want {
			t.Errorf("the findings are %q, want %q", got, test.want)
		}
	}
}

func TestWithAcceptedRefusesUnknownCauses(t *testing.T) {
	defer func() {
		if said, _ := recover().(string); !strings.Contains(said, `"TTL to short"`) || !strings.Contains(said, "TTL too short") {
			t.Errorf("it says %q, which does not have what was given and what is wanted", said)
		}
	}()
	stats.WithAccepted("users", "TTL to short")
}

// TestNewIsNoTrouble checks that a cache which has just been made, and so misses, is not said to
// be in trouble.
func TestNewIsNoTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r stats.Registry
		users := varying{}
		r.Register("users", users.snapshot)
		h := r.Handler()
		time.Sleep(6 * time.Second)
		users.change(func(s *stats.Snapshot) { s.Hits, s.Misses, s.Limit = 100, 200, 1000 })
		found := readJSON(t, h).Caches[0]["findings"].([]any)
		if len(found) != 1 || found[0].(map[string]any)["cause"] != "new" || found[0].(map[string]any)["severity"] != "advice" {
			t.Errorf("the findings are %v, want that it is new, as advice", found)
		}
	})
}
