package relay

import (
	"sync"
	"sync/atomic"
	"time"
)

// A Status says what a relay has done, and does.
type Status struct {
	Leads      bool      // it relays; another one may if not
	LastBeat   time.Time // since it leads; the zero time if there was none
	Beats      uint64
	Removed    uint64 // keys
	RemovedAll uint64 // how many times all keys were removed
	Takeovers  uint64 // how many times it has begun to relay
	Errors     uint64
	LastError  error // or nil
	FailedAt   time.Time
}

// counts are for the Status.
type counts struct {
	removed, removedAll atomic.Uint64

	mu        sync.Mutex // guards what follows
	leads     bool
	lastBeat  time.Time
	beats     uint64
	takeovers uint64
	errors    uint64
	lastError error
	failedAt  time.Time
}

func (c *counts) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leads, c.lastBeat = true, time.Time{}
	c.takeovers++
}

func (c *counts) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leads, c.lastBeat = false, time.Time{}
}

func (c *counts) beat(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastBeat = at
	c.beats++
}

func (c *counts) failed(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.errors++
	c.lastError, c.failedAt = err, time.Now()
}

// Status returns what the relay has done. It may be called concurrently.
func (r *Relay) Status() Status {
	c := &r.counts
	c.mu.Lock()
	defer c.mu.Unlock()
	return Status{
		Leads: c.leads, LastBeat: c.lastBeat, Beats: c.beats, Takeovers: c.takeovers,
		Removed: c.removed.Load(), RemovedAll: c.removedAll.Load(), Errors: c.errors, LastError: c.lastError, FailedAt: c.failedAt,
	}
}
