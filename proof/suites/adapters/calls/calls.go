// Package calls waits for calls of OnRemove. The libraries whose tests are run make
// theirs before the method returns that removes a value, where a cache leaves them to a
// goroutine.
package calls

import (
	"sync"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// A Count is the number of calls that have ended.
type Count struct {
	mu    sync.Mutex
	ended uint64
	more  sync.Cond // with mu; that ended has grown
}

// New returns a count of 0.
func New() *Count {
	c := new(Count)
	c.more.L = &c.mu
	return c
}

// End says that one call has ended.
func (c *Count) End() {
	c.mu.Lock()
	c.ended++
	c.mu.Unlock()
	c.more.Broadcast()
}

// Wait waits until there was a call for each of the removals that a cache has counted.
func (c *Count) Wait(s stats.Snapshot) {
	c.mu.Lock()
	for c.ended < s.Removals.Total() {
		c.more.Wait()
	}
	c.mu.Unlock()
}
