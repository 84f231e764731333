package runner

import (
	"iter"
	"math/bits"
	"time"
)

// An activeCall is a callback that runs now.
type activeCall[T any] struct {
	order uint64
	began time.Duration  // since epoch
	chain *queue[T]      // the items deferred until it ends; nil before the first
	next  *activeCall[T] // of its bucket, or of those that are free
}

// calls are the callbacks that run now, by their keys, which are hashes. One callback after
// another would have a map, which chooses another seed each time it becomes empty, cost as much
// as the rest of the runner.
type calls[T any] struct {
	buckets []*activeCall[T] // a power of two
	free    *activeCall[T]   // to reuse; with those in buckets as many as ever ran at once
	len     int
}

// mostBuckets bounds the memory of a runner that has room for many callbacks.
const mostBuckets = 256

func newCalls[T any](limit int) calls[T] {
	n := 1 << bits.Len(uint(min(limit, mostBuckets)-1))
	return calls[T]{buckets: make([]*activeCall[T], n)}
}

func (c *calls[T]) bucket(order uint64) **activeCall[T] {
	return &c.buckets[order&uint64(len(c.buckets)-1)]
}

// find returns the call of a key, or nil.
func (c *calls[T]) find(order uint64) *activeCall[T] {
	at := *c.bucket(order)
	for at != nil && at.order != order {
		at = at.next
	}
	return at
}

// begin adds a call of a key that has none.
func (c *calls[T]) begin(order uint64) {
	added := c.free
	if added == nil {
		added = new(activeCall[T])
	} else {
		c.free = added.next
	}
	bucket := c.bucket(order)
	*added = activeCall[T]{order: order, began: time.Since(epoch), next: *bucket}
	*bucket = added
	c.len++
}

// end removes the call of a key.
func (c *calls[T]) end(order uint64) {
	at := c.bucket(order)
	for (*at).order != order {
		at = &(*at).next
	}
	ended := *at
	*at = ended.next
	*ended = activeCall[T]{next: c.free}
	c.free = ended
	c.len--
}

// all returns an iterator over the calls.
func (c *calls[T]) all() iter.Seq[*activeCall[T]] {
	return func(yield func(*activeCall[T]) bool) {
		for _, at := range c.buckets {
			for ; at != nil; at = at.next {
				if !yield(at) {
					return
				}
			}
		}
	}
}
