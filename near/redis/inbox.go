package redis

import (
	"context"
	"sync"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
)

// An inbox keeps the messages that a watcher has not got yet. Adding one never waits: if the
// watcher is too slow, its messages become one ChangedAll. So a stuck watcher costs this
// process a bounded amount of memory, and Redis nothing.
type inbox struct {
	room  int           // bytes of keys it keeps
	ready chan struct{} // not empty while there is something to tell

	mu     sync.Mutex
	down   bool                  // since lost, until restored
	asOf   time.Time             // the latest one added
	untold func(key string) bool // of restored
	news   news
}

// news is what a watcher is to be told, in the order of the fields. They came in that order: a
// ChangedAll supersedes what came before it, and nothing is added after lost.
type news struct {
	except func(key string) bool // told with all, before it
	all    bool
	keys   []string
	size   int // of keys, in bytes
	asOf   time.Time
	lost   error
}

const (
	inboxRoom = 16 << 20
	keyRoom   = 32 // what a key costs beside its bytes
)

func newInbox(room int) *inbox {
	return &inbox{room: room, ready: make(chan struct{}, 1), down: true}
}

// changed is ignored while the connection is down: the ChangedAll that follows covers the keys.
func (b *inbox) changed(keys ...string) {
	b.put(func(n *news) bool {
		if b.down {
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

// changedAll says that any key may have changed. No later change goes untold.
func (b *inbox) changedAll() {
	b.put(func(n *news) bool {
		if b.down {
			return false
		}
		n.forget()
		return true
	})
}

// except says that changes of the keys for which untold returns true will not come; nil means that
// all will. It is called before restored, and is told before the ChangedAll.
func (b *inbox) except(untold func(key string) bool) {
	b.put(func(*news) bool { b.untold = untold; return false })
}

// restored ends what lost began. Everything before asOf is covered by the ChangedAll.
func (b *inbox) restored(asOf time.Time) {
	b.put(func(n *news) bool {
		b.down = false
		n.forget()
		b.asOf, n.asOf, n.lost = asOf, asOf, nil
		return true
	})
}

// current is ignored if asOf is before an earlier one.
func (b *inbox) current(asOf time.Time) {
	b.put(func(n *news) bool {
		if b.down || !asOf.After(b.asOf) {
			return false
		}
		b.asOf, n.asOf = asOf, asOf
		return true
	})
}

func (b *inbox) lost(err error) {
	b.put(func(n *news) bool {
		b.down = true
		n.asOf, n.lost = time.Time{}, err
		return true
	})
}

// forget replaces all keys by one ChangedAll.
func (n *news) forget() { n.all, n.keys, n.size = true, nil, 0 }

// put changes the news, and wakes tell if there is something new.
func (b *inbox) put(change func(*news) bool) {
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

// tell tells w until ctx ends.
func (b *inbox) tell(ctx context.Context, w near.Watcher) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.ready:
		}
		b.mu.Lock()
		n := b.news
		b.news = news{}
		n.except = b.untold
		b.mu.Unlock()
		n.tell(w)
	}
}

func (n *news) tell(w near.Watcher) {
	if n.all {
		near.Except(w, n.except)
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
