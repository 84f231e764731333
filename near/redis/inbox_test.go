package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// A told is a watcher as a near cache is one: what it would serve.
type told struct {
	log  []string
	keys []string
	lost bool
}

func (w *told) Changed(keys ...string) { w.keys = append(w.keys, keys...) }
func (w *told) ChangedAll()            { w.log, w.lost = append(w.log, "all"), false }
func (w *told) Current(time.Time)      { w.log = append(w.log, "current") }
func (w *told) Lost(error)             { w.log, w.lost = append(w.log, "lost"), true }

// Catches: any state of an inbox in which a watcher misses a key before a Current, hears
// Current while lost, or keeps more than its room.
func TestInboxModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, w := newInbox(3*keyRoom), &told{}
		owed, down := map[string]bool{}, true // keys that Current may not overtake
		for step := range rapid.IntRange(1, 60).Draw(t, "steps") {
			now := time.Unix(int64(step)+1, 0)
			switch rapid.IntRange(0, 6).Draw(t, "op") {
			case 0, 1:
				key := fmt.Sprint("k", step)
				b.changed(key)
				owed[key] = true
			case 2:
				b.changedAll()
			case 3:
				b.current(now)
			case 4:
				b.lost(errors.New("gone"))
				down = true
			case 5:
				b.restored(now)
				down = false
			case 6:
				w.log, w.keys = nil, nil
				n := b.news
				b.news = news{}
				n.tell(w)
				if slices.Contains(w.log, "all") {
					clear(owed)
				}
				for _, key := range w.keys {
					delete(owed, key)
				}
				if slices.Contains(w.log, "current") && len(owed) > 0 {
					t.Fatalf("%v, and not yet %v", w.log, owed)
				}
				if down && slices.Contains(w.log, "current") {
					t.Fatalf("%v while lost", w.log)
				}
				if !down && w.lost {
					t.Fatalf("%v: still lost after restored", w.log)
				}
			}
			if b.news.size > b.room {
				t.Fatalf("%d bytes of %d", b.news.size, b.room)
			}
		}
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

// Catches: vouching for more than the slowest member does.
func TestVouchedForByAll(t *testing.T) {
	b := newInbox(1000)
	b.restored(time.Unix(1, 0))
	v := vouched{asOf: make([]time.Time, 2), in: b}
	for _, c := range []struct{ member, at, want int64 }{{0, 9, 1}, {1, 5, 5}, {1, 20, 9}, {0, 15, 15}} {
		if v.set(int(c.member), time.Unix(c.at, 0)); b.asOf.Unix() != c.want {
			t.Errorf("member %d at %d: current as of %d, want %d", c.member, c.at, b.asOf.Unix(), c.want)
		}
	}
}
