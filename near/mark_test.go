package near_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/near"
)

// A marking hand is one that makes marks.
type marking struct {
	*hand
	moments map[near.Mark]time.Time
	err     error
}

func (m *marking) Mark(context.Context) (near.Mark, error) { return "made", m.err }

func (m *marking) Moment(mark near.Mark) (time.Time, bool) {
	moment, ok := m.moments[mark]
	return moment, ok
}

// TestTakeSince checks that memory is served for a mark once the source has vouched for a moment
// after it, that a load which began after it is shared, and that all other marks ask anew.
func TestTakeSince(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := &rig{t: t, server: newServer(), hand: new(hand)}
		m := &marking{r.hand, map[near.Mark]time.Time{}, nil}
		c, err := near.New(r.server, m, near.Options[string, string]{})
		if err != nil {
			t.Fatal(err)
		}
		r.Cache = c
		defer c.Close(context.Background())
		settled(r)
		since := func(what string, mark near.Mark, value string, reads int) {
			t.Helper()
			calls := r.server.called("lease")
			got, err := c.TakeSince(t.Context(), mark, "k", r.fetch)
			if n := r.server.called("lease") - calls; err != nil || got != value || n != reads {
				t.Errorf("%s: %q, %v with %d reads of the store, want %q with %d", what, got, err, n, value, reads)
			}
		}
		r.store("k", "1", 0)
		r.want("a miss", "1", 1, 0)
		r.store("k", "2", 0) // told later
		time.Sleep(100 * time.Millisecond)
		m.moments["after 2"] = time.Now()
		since("none", "", "1", 0)
		since("not vouched for", "after 2", "2", 1)
		since("loaded since", "after 2", "2", 0)
		r.store("k", "3", 0)
		time.Sleep(100 * time.Millisecond)
		m.moments["after 3"] = time.Now()
		since("an older mark", "after 2", "2", 0)
		since("a newer mark", "after 3", "3", 1)
		since("unknown", "made up", "3", 1)
		since("unknown again", near.UnknownMark, "3", 1)
		r.hand.Changed("k")
		r.want("in memory", "3", 1, 0)
		r.hand.vouch()
		since("vouched for", "after 3", "3", 0)

		if mark, err := c.Mark(t.Context()); mark != "made" || err != nil {
			t.Errorf("Mark: %q, %v", mark, err)
		}
		m.err = errServer
		if mark, err := c.Mark(t.Context()); mark != near.UnknownMark || !errors.Is(err, errServer) {
			t.Errorf("Mark with an error: %q, %v", mark, err)
		}
	})
}

// settled waits until the hand is watched, and has it vouch.
func settled(r *rig) {
	synctest.Wait()
	r.hand.ChangedAll()
	r.hand.vouch()
}

// TestTakeSinceOfALocal checks the same of a Local, and that a source which makes no marks has
// every load begin anew.
func TestTakeSinceOfALocal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := &marking{new(hand), map[near.Mark]time.Time{}, nil}
		loads := 0
		load := func(context.Context, *cache.Load[string]) (string, error) { loads++; return "v", nil }
		take := func(l *near.Local[string, string], mark near.Mark, want int) {
			t.Helper()
			if _, err := l.TakeSince(t.Context(), mark, "k", load); err != nil || loads != want {
				t.Errorf("since %q: %d loads, %v; want %d", mark, loads, err, want)
			}
		}
		l := newLocal(t, m)
		time.Sleep(time.Second / 10)
		m.moments["m"] = time.Now()
		take(l, "", 1)
		take(l, "m", 2)
		take(l, "m", 2) // that load began at its moment
		time.Sleep(time.Second / 10)
		m.moments["later"] = time.Now()
		take(l, "later", 3)
		time.Sleep(2 * time.Second) // what was loaded is not kept for long
		m.vouch()
		l.Take(t.Context(), "k", load)
		take(l, "later", 3)
		take(l, "m", 3)

		plain := newLocal(t, new(hand))
		mark, err := plain.Mark(t.Context())
		if mark != near.UnknownMark || err != nil {
			t.Errorf("%q, %v", mark, err)
		}
		take(plain, "", 4)
		take(plain, "", 4)
		take(plain, mark, 5)
		take(plain, mark, 6)
	})
}
