package relay

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
)

// confirmed is a Watcher that remembers the last moment that was confirmed.
type confirmed struct {
	near.Watcher
	asOf time.Time
}

func (c *confirmed) Current(asOf time.Time) { c.asOf = asOf }
func (c *confirmed) ChangedAll()            {}

// Catches: a moment that is confirmed by a round which may have begun before it, by one of another relay, by beats from
// before the store was another one, or before the source has vouched for a moment after its end.
func TestTruth(t *testing.T) {
	type step struct {
		beat beat // that is read; zero: none
		asOf int  // of the Current that follows, in seconds, 0: none
		all  bool // ChangedAll
		want int  // the moment that is confirmed then
	}
	for name, steps := range map[string][]step{
		"the next round":    {{beat: beat{"a", 7, 7}}, {beat: beat{"a", 8, 8}}, {beat: beat{"a", 9, 9}}, {asOf: 4, want: 2}},
		"the same round":    {{beat: beat{"a", 7, 7}}, {beat: beat{"a", 8, 7}}, {beat: beat{"a", 8, 8}}, {asOf: 4}, {beat: beat{"a", 9, 9}}, {asOf: 6, want: 3}},
		"one under way":     {{beat: beat{"a", 7, 7}}, {beat: beat{"a", 8, 8}}, {beat: beat{"a", 9, 8}}, {beat: beat{"a", 9, 9}}, {asOf: 5, want: 2}},
		"told later":        {{beat: beat{"a", 7, 7}}, {beat: beat{"a", 8, 8}}, {beat: beat{"a", 9, 9}}, {asOf: 3}, {asOf: 5, want: 2}},
		"two at once":       {{beat: beat{"a", 7, 7}}, {beat: beat{"a", 8, 8}}, {beat: beat{"b", 9, 9}}, {asOf: 4}, {beat: beat{"b", 11, 10}}, {asOf: 6, want: 3}},
		"it has gone back":  {{beat: beat{"a", 7, 7}}, {beat: beat{"a", 8, 8}}, {beat: beat{"a", 6, 6}}, {beat: beat{"a", 7, 7}}, {asOf: 5}, {beat: beat{"a", 9, 9}}, {asOf: 7, want: 2}},
		"another store":     {{beat: beat{"a", 7, 7}}, {beat: beat{"a", 8, 8}}, {beat: beat{"a", 9, 9}}, {all: true}, {asOf: 5}, {beat: beat{"a", 10, 10}}, {asOf: 7}, {beat: beat{"a", 11, 11}}, {beat: beat{"a", 12, 12}}, {asOf: 10, want: 8}},
		"a restored one":    {{beat: beat{"a", 5, 5}}, {beat: beat{"a", 5, 5}}, {beat: beat{"a", 9, 9}}, {asOf: 4}, {beat: beat{"a", 10, 10}}, {asOf: 6, want: 3}},
		"none, and nothing": {{beat: beat{}}, {beat: beat{"a", 1, 1}}, {asOf: 3}, {beat: beat{}}, {beat: beat{"a", 2, 2}}, {asOf: 6}},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			at := func(n int) time.Time { return began.Add(time.Duration(n) * time.Second) }
			w := &confirmed{}
			watching := &truth{Watcher: w, f: &Follower{maxLag: time.Hour}}
			for i, s := range steps {
				time.Sleep(time.Second) // the step is at second i+1
				w.asOf = time.Time{}
				switch asked := time.Now(); {
				case s.all:
					watching.ChangedAll()
				case s.asOf > 0:
					watching.Current(at(s.asOf))
				default:
					time.Sleep(time.Millisecond)
					watching.heard(s.beat, asked)
				}
				got := 0
				if !w.asOf.IsZero() {
					got = int(w.asOf.Sub(began).Seconds())
				}
				if got != s.want {
					t.Errorf("%s, step %d: confirmed %d, want %d", name, i+1, got, s.want)
				}
			}
		})
	}
}
