package near

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

// A hearer is a Watcher that notes what it is told.
type hearer struct{ log, keys []string }

func (w *hearer) Changed(keys ...string) {
	w.log, w.keys = append(w.log, fmt.Sprint(keys)), append(w.keys, keys...)
}
func (w *hearer) ChangedAll()       { w.log = append(w.log, "all") }
func (w *hearer) Current(time.Time) { w.log = append(w.log, "current") }
func (w *hearer) Lost(error)        { w.log = append(w.log, "lost") }

// Catches: an order of telling that vouches too early or ends Lost too early.
func TestInboxOrder(t *testing.T) {
	now, gone := time.Now(), errors.New("gone")
	for _, c := range []struct {
		name string
		put  func(*Inbox)
		want []string
	}{
		{"nothing counts before ChangedAll", func(b *Inbox) { b.Changed("a"); b.Current(now) }, nil},
		{"keys before current", func(b *Inbox) { b.ChangedAll(); b.Current(now.Add(1)); b.Changed("a", "b") }, []string{"all", "[a b]", "current"}},
		{"all instead of keys", func(b *Inbox) { b.ChangedAll(); b.Changed("a"); b.ChangedAll() }, []string{"all"}},
		{"lost takes current back", func(b *Inbox) { b.ChangedAll(); b.Changed("a"); b.Current(now); b.Lost(gone) }, []string{"all", "[a]", "lost"}},
		{"nothing while lost", func(b *Inbox) { b.ChangedAll(); b.Lost(gone); b.Changed("a"); b.Flushed(); b.Current(now) }, []string{"all", "lost"}},
		{"flushed instead of keys", func(b *Inbox) { b.ChangedAll(); b.Changed("a"); b.Flushed() }, []string{"all"}},
		{"all ends lost", func(b *Inbox) { b.Lost(gone); b.ChangedAll(); b.Current(now) }, []string{"all", "current"}},
		{"too much is all", func(b *Inbox) { b.ChangedAll(); b.Changed("12345", "12345"); b.Changed("6") }, []string{"all", "[6]"}},
		{"an earlier current", func(b *Inbox) { b.ChangedAll(); b.Current(now); b.Lost(gone); b.ChangedAll(); b.Current(now) }, []string{"all"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			b, w := NewInbox(2*keyRoom+9), &hearer{}
			c.put(b)
			ctx, stop := context.WithCancel(t.Context())
			go b.Tell(ctx, w)
			synctest.Wait()
			stop()
			synctest.Wait()
			if !slices.Equal(w.log, c.want) {
				t.Errorf("%s: %v, want %v", c.name, w.log, c.want)
			}
		})
	}
}

// Catches: any state of an Inbox in which a watcher misses a key before a Current, hears
// Current while lost, or has more kept for it than the room.
func TestInboxModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, w := NewInbox(6*keyRoom), &hearer{}
		owed, down := map[string]bool{}, true // keys that Current may not overtake
		dead := true                          // down since it was told the last time
		for step := range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 6).Draw(t, "op") {
			case 0, 1:
				key := fmt.Sprint("k", step)
				b.Changed(key)
				owed[key] = owed[key] || !down
			case 2:
				b.ChangedAll()
				down, dead = false, false
			case 3:
				b.Current(time.Unix(int64(step)+1, 0))
			case 4:
				b.Lost(errors.New("gone"))
				down = true
			case 5:
				b.Flushed()
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
				for key, is := range owed {
					if is && slices.Contains(w.log, "current") {
						t.Fatalf("%v, and not yet %s", w.log, key)
					}
				}
				if down && slices.Contains(w.log, "current") || !down && slices.Contains(w.log, "lost") {
					t.Fatalf("%v, and lost is %t", w.log, down)
				}
				if dead && slices.Contains(w.log, "all") {
					t.Fatalf("%v ends a loss", w.log)
				}
				dead = down
			}
			if b.news.size > b.room {
				t.Fatalf("%d bytes of %d", b.news.size, b.room)
			}
		}
	})
}
