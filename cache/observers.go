// This file tells OnRemove and OnRemoveSync of removals, and waits for them.

package cache

import (
	"context"

	"github.com/pinwheel-cache/pinwheel/internal/runner"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// A debt is what a goroutine that has removed values owes the observers, once it holds no lock: it
// calls OnRemoveSync itself, and waits if OnRemove is behind. See settle.
type debt[K comparable, V any] struct {
	queued bool // events for OnRemove
	calls  *runner.Owed[Event[K, V]]
}

func (w *debt[K, V]) add(more debt[K, V]) {
	w.queued = w.queued || more.queued
	w.calls = w.calls.Add(more.calls)
}

// owedBy returns what was reported in the present hold of the lock of a shard.
func (o *observers[K, V]) owedBy(s *shard[K, V]) debt[K, V] {
	w := debt[K, V]{queued: o.runner != nil}
	if o.direct != nil {
		w.calls = o.direct.Take(s)
	}
	return w
}

// settle has a caller do what it owes. No lock may be held.
func (o *observers[K, V]) settle(w debt[K, V]) {
	o.tell(w)
	if w.queued && o.runner.Full() {
		o.blocked.Add(1)
		o.waitForRunner()
		o.blocked.Add(-1)
	}
}

// settleTick is settle for a tick, which is no caller, and must not end before its time: a call of
// OnRemoveSync may end its goroutine.
func (o *observers[K, V]) settleTick(w debt[K, V]) {
	if w.calls != nil {
		told := make(chan struct{})
		go func() {
			defer close(told)
			o.tell(w)
		}()
		<-told
	}
	if w.queued {
		o.waitForRunner()
	}
}

// tell calls OnRemoveSync. No lock may be held.
func (o *observers[K, V]) tell(w debt[K, V]) {
	if w.calls != nil {
		o.direct.Run(w.calls)
	}
}

func (o *observers[K, V]) waitForRunner() {
	_ = o.runner.Wait(context.Background()) // fails only when its context ends
}

// calling reports whether a call is queued or runs.
func (o *observers[K, V]) calling() bool {
	return o.runner != nil && !o.runner.Idle() || o.direct != nil && !o.direct.Idle()
}

// drain waits until no call is queued or runs. If ctx ends first, it returns the cause of ctx.
func (o *observers[K, V]) drain(ctx context.Context) error {
	if o.direct != nil {
		if err := o.direct.Drain(ctx); err != nil {
			return err
		}
	}
	if o.runner == nil {
		return nil
	}
	return o.runner.Drain(ctx)
}

// callbacks returns the counts of both, together.
func (o *observers[K, V]) callbacks() (s stats.Callbacks) {
	if o.runner != nil {
		s.Queued, s.Panics = o.runner.Queued(), o.runner.Panics()
		s.Running, s.Oldest = o.runner.Running()
		s.Blocked = int(o.blocked.Load())
	}
	if o.direct != nil {
		s.Queued += o.direct.Queued()
		s.Panics += o.direct.Panics()
		n, oldest := o.direct.Running()
		s.Running, s.Oldest = s.Running+n, max(s.Oldest, oldest)
	}
	return s
}
