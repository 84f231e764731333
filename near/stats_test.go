package near_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// named returns the statistics that package stats shows of a cache.
func named(t *testing.T, name string) stats.Snapshot {
	t.Helper()
	all := stats.Caches()
	i := slices.IndexFunc(all, func(c stats.Named[stats.Snapshot]) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("%s is not among %v", name, all)
	}
	return all[i].Snapshot
}

// TestStatsAreShown checks that package stats shows what Stats returns, with the part
// Near.
func TestStatsAreShown(t *testing.T) {
	inRig(t, near.Options[string, string]{Name: "shown", MaxLag: 3 * time.Second}, func(t *testing.T, r *rig) {
		r.store("k", "1", 0)
		r.want("at first", "1", 1, 0)
		r.want("again", "1", 0, 0)
		r.hand.Changed("k")
		time.Sleep(time.Second)
		want := stats.Near{RemoteHits: 1, Changes: 1, ForgottenAll: 1, Serving: true, Lag: time.Second, MaxLag: 3 * time.Second}
		for _, s := range []stats.Snapshot{r.Stats(), named(t, "shown")} {
			if s.Near != want || s.Hits != 1 || s.Misses != 1 {
				t.Errorf("%d hits, %d misses, %+v", s.Hits, s.Misses, s.Near)
			}
		}
		w := httptest.NewRecorder()
		stats.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics?all=1&cache=shown", nil))
		if reads := `cache_near_store_read_seconds_count{cache="shown"} 1` + "\n"; !strings.Contains(w.Body.String(), reads) {
			t.Errorf("want %q in %s", reads, w.Body)
		}
	})
}

// TestNotFoundIsNoFailure checks that a "not found", from the store, from fetch and past
// the store, does not count as a failed load.
func TestNotFoundIsNoFailure(t *testing.T) {
	inRig(t, near.Options[string, string]{NotFoundExpire: time.Second, MaxLag: time.Minute}, func(t *testing.T, r *rig) {
		r.err = near.ErrNotFound
		loads := uint64(0)
		check := func(what string, ok uint64) {
			t.Helper()
			loads += ok
			if l := r.Stats().Loads; l.OK.Count() != loads || l.Failed.Count() != 0 {
				t.Errorf("%s: %d loads ok, want %d, and %d failed", what, l.OK.Count(), loads, l.Failed.Count())
			}
		}
		r.Get(t.Context(), "k")
		check("Get of what is not there", 1)
		r.Take(t.Context(), "k", r.fetch)
		check("a fetch", 1)
		r.Take(t.Context(), "k", r.fetch)
		check("kept here", 0)
		r.hand.Changed("k")
		r.Take(t.Context(), "k", r.fetch)
		check("of the store", 1)
		r.server.fail = func(string) bool { return true }
		r.hand.Changed("k")
		r.Take(t.Context(), "k", r.fetch)
		check("past the store", 1)
		time.Sleep(time.Minute)
		r.err = errors.New("refused")
		r.Take(t.Context(), "k", r.fetch)
		if l := r.Stats().Loads; l.Failed.Count() != 1 {
			t.Errorf("%d loads failed, want the one that did", l.Failed.Count())
		}
	})
}

// TestAmendOfALocal checks that the owner of a Local can add to its statistics.
func TestAmendOfALocal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		o := near.LocalOptions[string, int]{Amend: func(s *stats.Snapshot) { s.Near.Fetches = 10 + s.Near.Unserved }}
		l, err := near.NewLocal(partly{&hand{}}, o)
		must(t, err)
		defer l.Close(t.Context())
		_, _ = l.Take(t.Context(), "k", func(context.Context, *cache.Load[int]) (int, error) { return 1, nil })
		if s := l.Stats(); s.Near.Fetches != 11 || !s.Near.Partial || s.Near.MaxLag != time.Second {
			t.Errorf("%+v", s.Near)
		}
	})
}

// A partly is a source that does not tell of all changes.
type partly struct{ *hand }

func (partly) Partial() bool { return true }
