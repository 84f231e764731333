package near

import (
	"context"
	"sync"
	"time"
)

// An Inbox is a [Watcher] for those who write a [Source]. It keeps what it is told, and
// [Inbox.Tell] passes it on to another watcher, which may be slow or stuck. Telling an Inbox
// never waits: what exceeds its room becomes one ChangedAll. So a stuck watcher costs this
// process a bounded amount of memory, and the server nothing.
//
// Between Lost and ChangedAll, and before the first ChangedAll, it ignores Changed, Flushed and
// Current.
// Its methods are safe for concurrent use. Make one with [NewInbox].
type Inbox struct {
	room  int           // bytes of keys it keeps
	ready chan struct{} // not empty while there is something to tell

	mu   sync.Mutex
	down bool      // before ChangedAll
	asOf time.Time // the latest one
	news news
}

// news is told in the order of its fields. That is the order in which it came, as all
// supersedes what came before it, and nothing is added after lost.
type news struct {
	all  bool
	keys []string
	size int // of keys, in bytes
	asOf time.Time
	lost error
}

// keyRoom is what a key costs beside its bytes.
const keyRoom = 32

// NewInbox returns an empty Inbox with room for some bytes of keys, each of which counts as its
// length and 32 more.
func NewInbox(room int) *Inbox {
	return &Inbox{room: room, ready: make(chan struct{}, 1), down: true}
}

// Changed keeps keys.
func (b *Inbox) Changed(keys ...string) {
	b.put(func(n *news) bool {
		if b.down || len(keys) == 0 {
			return false
		}
		for _, key := range keys {
			n.size += len(key) + keyRoom
		}
		if n.size <= b.room {
			n.keys = append(n.keys, keys...)
		} else {
			n.forget()
		}
		return true
	})
}

// ChangedAll replaces all that was kept, also a Lost that was not passed on yet.
func (b *Inbox) ChangedAll() {
	b.put(func(n *news) bool {
		if b.down {
			b.down, n.lost = false, nil
		}
		n.forget()
		return true
	})
}

// Flushed says that any key may have changed, as ChangedAll does, but does not end Lost: it is for
// what a server tells while it is not yet sure that all changes are heard.
func (b *Inbox) Flushed() {
	b.put(func(n *news) bool {
		if b.down {
			return false
		}
		n.forget()
		return true
	})
}

// Current keeps the latest asOf.
func (b *Inbox) Current(asOf time.Time) {
	b.put(func(n *news) bool {
		if b.down || !asOf.After(b.asOf) {
			return false
		}
		b.asOf, n.asOf = asOf, asOf
		return true
	})
}

// Lost keeps err, after what was kept before.
func (b *Inbox) Lost(err error) {
	b.put(func(n *news) bool {
		b.down = true
		n.asOf, n.lost = time.Time{}, err
		return true
	})
}

// forget replaces all keys by one ChangedAll.
func (n *news) forget() { n.all, n.keys, n.size = true, nil, 0 }

// put changes the news, and wakes Tell if there is something new.
func (b *Inbox) put(change func(*news) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !change(&b.news) {
		return
	}
	select {
	case b.ready <- struct{}{}:
	default:
	}
}

// Tell tells w until ctx ends.
func (b *Inbox) Tell(ctx context.Context, w Watcher) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.ready:
		}
		b.mu.Lock()
		n := b.news
		b.news = news{}
		b.mu.Unlock()
		n.tell(w)
	}
}

func (n *news) tell(w Watcher) {
	if n.all {
		w.ChangedAll()
	}
	if len(n.keys) > 0 {
		w.Changed(n.keys...)
	}
	if !n.asOf.IsZero() {
		w.Current(n.asOf)
	}
	if n.lost != nil {
		w.Lost(n.lost)
	}
}
