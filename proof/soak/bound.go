package main

import "sync/atomic"

// A bound is the limit of a cache, and says whether Resize is changing it.
type bound struct {
	changes atomic.Uint64 // twice the changes that have ended, plus 1 during a change
	limit   atomic.Int64
}

// set sets the limit before the cache is used.
func (b *bound) set(limit int) { b.limit.Store(int64(limit)) }

// change calls resize, which sets the limit, unless another goroutine is in it. It reports
// whether it did.
func (b *bound) change(limit int, resize func()) bool {
	c := b.changes.Load()
	if c%2 != 0 || !b.changes.CompareAndSwap(c, c+1) {
		return false
	}
	resize()
	b.limit.Store(int64(limit))
	b.changes.Add(1)
	return true
}

// exceeded reports whether count returned more than the limit, which did not change
// meanwhile.
func (b *bound) exceeded(count func() int) (n, limit int, exceeded bool) {
	before := b.changes.Load()
	limit = int(b.limit.Load())
	n = count()
	return n, limit, limit > 0 && n > limit && before%2 == 0 && b.changes.Load() == before
}
