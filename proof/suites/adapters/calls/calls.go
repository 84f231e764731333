// Package calls waits for calls of OnRemove. The libraries whose tests are run call theirs
// before the method that removes a value returns; a cache calls it in another goroutine.
package calls

import (
	"sync"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// A Count is the number of calls that have ended.
type Count struct {
	mu    sync.Mutex
	ended uint64
	more  sync.Cond // with mu; ended has grown
}

// New returns a count of 0.
func New() *Count {
	c := new(Count)
	c.more.L = &c.mu
	return c
}

// End counts a call that has ended.
func (c *Count) End() {
	c.mu.Lock()
	c.ended++
	c.mu.Unlock()
	c.more.Broadcast()
}

// Wait waits until as many calls have ended as the cache has counted removals.
func (c *Count) Wait(s stats.Snapshot) {
	c.mu.Lock()
	for c.ended < s.Removals.Total() {
		c.more.Wait()
	}
	c.mu.Unlock()
}
