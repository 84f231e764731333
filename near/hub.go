package near

import (
	"context"
	"sync"
	"time"
)

// A Hub is for those who write a [Source] of which several caches share one connection. It passes
// on what one function hears to all watchers, and runs it while there are any. Each watcher has an
// [Inbox], so that a slow one holds up none of the others. Its methods are safe for concurrent use.
// Make one with [NewHub].
type Hub struct {
	run func(ctx context.Context)

	joining sync.Mutex // held while run begins or ends
	stop    context.CancelFunc
	done    chan struct{} // closed when run has returned

	mu       sync.Mutex // guards watchers; taken after joining
	watchers map[*Inbox]time.Duration
}

// inboxRoom is how many bytes of keys wait for a watcher that is slow.
const inboxRoom = 16 << 20

// NewHub returns a Hub without watchers. run hears of changes, tells them by [Hub.Tell], and returns
// when ctx ends. It is not called concurrently. After it has begun or lost track it tells ChangedAll.
func NewHub(run func(ctx context.Context)) *Hub { return &Hub{run: run} }

// Watch tells w until ctx ends, as [Source.Watch] must.
func (h *Hub) Watch(ctx context.Context, w Watcher) {
	in := NewInbox(inboxRoom)
	// What changes from now on is told: run goes on where it is, and its next Current comes
	// after all that changed before.
	in.ChangedAll()
	h.join(in, MaxLag(w))
	defer h.leave(in)
	in.Tell(ctx, w)
}

func (h *Hub) join(in *Inbox, maxLag time.Duration) {
	h.joining.Lock()
	defer h.joining.Unlock()
	h.mu.Lock()
	if h.watchers == nil {
		h.watchers = map[*Inbox]time.Duration{}
	}
	h.watchers[in] = maxLag
	first := len(h.watchers) == 1
	h.mu.Unlock()
	if first {
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan struct{})
		h.stop, h.done = stop, done
		go func() {
			defer close(done)
			h.run(ctx)
		}()
	}
}

func (h *Hub) leave(in *Inbox) {
	h.joining.Lock()
	defer h.joining.Unlock()
	h.mu.Lock()
	delete(h.watchers, in)
	last := len(h.watchers) == 0
	h.mu.Unlock()
	if last {
		h.stop()
		<-h.done
	}
}

// Tell calls f for each watcher. f must not wait: it is called under a lock.
func (h *Hub) Tell(f func(w Watcher)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for in := range h.watchers {
		f(in)
	}
}

// MaxLag returns the least [MaxLag] of the watchers, and a millisecond at least.
func (h *Hub) MaxLag() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	least := time.Duration(0)
	for _, maxLag := range h.watchers {
		if least == 0 || maxLag < least {
			least = maxLag
		}
	}
	return max(least, time.Millisecond)
}
