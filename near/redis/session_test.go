package redis

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
)

// A lastCurrent is a watcher that notes Current only.
type lastCurrent struct {
	near.Watcher
	asOf int64
}

func (c *lastCurrent) Current(asOf time.Time) { c.asOf = asOf.Unix() }

// A teller is a watcher that notes which methods were called.
type teller struct{ log []string }

func (w *teller) Changed(keys ...string) { w.log = append(w.log, keys...) }
func (w *teller) ChangedAll()            { w.log = append(w.log, "all") }
func (w *teller) Current(time.Time)      { w.log = append(w.log, "current") }
func (w *teller) Lost(error)             { w.log = append(w.log, "lost") }

// Catches: a FLUSHALL that ends the time in which changes may go untold, and changes before that
// that are told as if all were heard.
func TestPushBeforeRestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, w := near.NewInbox(1000), &teller{}
		ctx, stop := context.WithCancel(t.Context())
		go in.Tell(ctx, w)
		tell := func(f func(), want ...string) {
			t.Helper()
			w.log = nil
			f()
			if synctest.Wait(); !slices.Equal(w.log, want) {
				t.Errorf("told %q, want %q", w.log, want)
			}
		}
		tell(func() { push(in, nil); in.Current(time.Now()) })
		tell(func() { restore(in) }, "all", "current")
		tell(func() { push(in, nil) }, "all")
		tell(func() { in.Lost(errBroken); push(in, nil); in.Current(time.Now()) }, "lost")
		stop()
		synctest.Wait()
	})
}

// Catches: a Current of the question's own time, which the changes of the same round of
// Redis' event loop come after; a beat that is too slow; one that goes on when the
// connection is gone.
func TestBeatVouchesForThePreviousQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const maxLag, trip = 300 * time.Millisecond, 20 * time.Millisecond
		var asked, vouched []time.Time
		broken := make(chan struct{})
		time.AfterFunc(time.Second+50*time.Millisecond, func() { close(broken) })
		err := beat(t.Context(), maxLag, broken, func(context.Context, time.Duration) error {
			asked = append(asked, time.Now())
			time.Sleep(trip)
			return nil
		}, func(asOf time.Time) {
			vouched = append(vouched, asOf)
			if len(asked) < 2 || !asOf.Equal(asked[len(asked)-2]) {
				t.Errorf("as of %v, asked at %v", asOf, asked)
			}
		})
		if !errors.Is(err, errBroken) || len(asked) != 10 || len(vouched) != 9 {
			t.Errorf("%v after %d questions and %d times vouched", err, len(asked), len(vouched))
		}
	})
}

// Catches: vouching for more than the slowest member does, or when the session is over.
func TestVouchedForByAll(t *testing.T) {
	var heard lastCurrent
	v := vouched{asOf: make([]time.Time, 2), by: newWatched(nil), in: &heard}
	for _, c := range []struct{ member, at, want int64 }{{0, 9, 0}, {1, 5, 5}, {1, 20, 9}, {0, 15, 15}} {
		if v.set(int(c.member), time.Unix(c.at, 0)); heard.asOf != c.want {
			t.Errorf("member %d at %d: current as of %d, want %d", c.member, c.at, heard.asOf, c.want)
		}
	}
	v.by.end(errOthers)
	v.set(1, time.Unix(16, 0))
	if v.set(0, time.Unix(16, 0)); heard.asOf != 15 {
		t.Errorf("over: current as of %d", heard.asOf)
	}
}
