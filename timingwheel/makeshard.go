package timingwheel

import (
	"iter"
	"sync/atomic"
)

// The shards of a wheel are made when they are first used, and dropped by Stop: an
// unused shard costs a pointer and an anchor.

// makeShard makes a shard and stores it in place, unless another goroutine has done
// so meanwhile. It returns nil after Stop.
func makeShard[S any, P interface {
	*S
	anyShard
}](w *wheel, place *atomic.Pointer[S], init func(*S)) *S {
	w.driver.mu.Lock()
	defer w.driver.mu.Unlock()
	if s := place.Load(); s != nil || w.driver.closed {
		return s
	}
	s := new(S)
	init(s)
	shards := append(w.madeShards(), P(s)) // beyond the end of what others read
	w.shardList.Store(&shards)
	place.Store(s)
	return s
}

// madeShards returns the shards made so far.
func (w *wheel) madeShards() []anyShard {
	if shards := w.shardList.Load(); shards != nil {
		return *shards
	}
	return nil
}

// made returns the shards made so far.
func made[S any](shards []atomic.Pointer[S]) iter.Seq[*S] {
	return func(yield func(*S) bool) {
		for i := range shards {
			if s := shards[i].Load(); s != nil && !yield(s) {
				return
			}
		}
	}
}

// stop removes all timers, lets no further callback begin, and drops the shards.
func stop[S any](w *wheel, shards []atomic.Pointer[S]) {
	w.stopDriver()
	for _, p := range w.madeShards() {
		p.close()
	}
	w.fold()
	for i := range shards {
		shards[i].Store(nil)
	}
	w.unregister()
}

// fold adds the counts of the shards to folded, and drops the shards. They must be
// closed.
func (w *wheel) fold() {
	w.folding.Lock()
	defer w.folding.Unlock()
	for _, p := range w.madeShards() {
		p.addTo(&w.folded)
	}
	w.shardList.Store(nil)
}

// stopped reports whether Stop was called.
func (w *wheel) stopped() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}
