package main

import "sync/atomic"

// A bound is the limit of a cache, as far as it is certain while Resize changes it.
type bound struct {
	changes atomic.Uint64 // twice the number of those that have ended, and 1 while one is under way
	limit   atomic.Int64
}

// set is for before the cache is used.
func (b *bound) set(limit int) { b.limit.Store(int64(limit)) }

// change has the limit changed by resize, by one goroutine at a time.
func (b *bound) change(limit int, resize func()) bool {
	c := b.changes.Load()
	if c%2 != 0 || !b.changes.CompareAndSwap(c, c+1) {
		return false // somebody else does
	}
	resize()
	b.limit.Store(int64(limit))
	b.changes.Add(1)
	return true
}

// exceeded reports whether count returned more than the limit, for certain.
func (b *bound) exceeded(count func() int) (n, limit int, exceeded bool) {
	before := b.changes.Load()
	limit = int(b.limit.Load())
	n = count()
	return n, limit, limit > 0 && n > limit && before%2 == 0 && b.changes.Load() == before
}
