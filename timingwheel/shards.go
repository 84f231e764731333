package timingwheel

import (
	"iter"
	"sync/atomic"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// The shards of a wheel are made when they are first used, and dropped by Stop: an
// unused shard costs a pointer and an anchor.

// anyShard is a shard as the driver and the workers see it.
type anyShard interface {
	nextVisit() int64
	visit(tick int64) (done bool)
	shrink(tick int64) (done bool)
	ready() bool
	backlog() int64
	oldest() int64
	callNext(upTo int64) bool
	addTo(*stats.WheelSnapshot)
	close()
}

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
