package near

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// waiters are the callers that wait for a change of a key.
type waiters struct {
	count atomic.Int64 // while it is 0, wake need not lock

	mu    sync.Mutex
	byKey map[string]*waiter
}

type waiter struct {
	changed chan struct{} // closed by the change
	count   int           // callers that wait
}

// add returns a waiter whose channel is closed when key changes. The caller must ask the
// store once more before it waits, as the key may have changed before add; remove must
// follow.
func (w *waiters) add(key string) *waiter {
	w.count.Add(1)
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.byKey[key]
	if one == nil {
		if w.byKey == nil {
			w.byKey = make(map[string]*waiter)
		}
		one = &waiter{changed: make(chan struct{})}
		w.byKey[key] = one
	}
	one.count++
	return one
}

func (w *waiters) remove(key string, one *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count.Add(-1)
	if one.count--; one.count == 0 && w.byKey[key] == one {
		delete(w.byKey, key)
	}
}

// wake wakes the callers that wait for a key.
func (w *waiters) wake(key string) {
	if w.count.Load() == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if one := w.byKey[key]; one != nil {
		close(one.changed)
		delete(w.byKey, key)
	}
}

// wakeAll wakes all callers.
func (w *waiters) wakeAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.byKey {
		close(one.changed)
	}
	clear(w.byKey)
}

// wait waits for a time, or until ctx ends or changed is closed.
func wait(ctx context.Context, d time.Duration, changed <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
	}
}
