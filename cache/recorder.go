// This file has what the machine tells Record.

package cache

import (
	"context"

	"github.com/pinwheel-cache/pinwheel/internal/recording"
)

// A record is a Recorder, with the function that ends its Run.
type record struct {
	*recording.Recorder
	end context.CancelFunc
}

// recordOf returns the record if there is one and it samples a key with hash h, and else
// nil. w may be nil.
func (w *watch[K]) recordOf(h uint64) *record {
	if w == nil || w.record == nil || !w.record.Sees(h) {
		return nil
	}
	return w.record
}

// recordGet records a get that is about to be made.
func (c *Cache[K, V]) recordGet(r *record, h uint64, key K) {
	a := recording.Access{Op: recording.Get, Key: h}
	deadline, weight, ok := c.common.look(h, key)
	if ok {
		a.Hit, a.Weight, a.TTL = true, weight, c.common.left(deadline)
	}
	r.Add(a)
}

// recordSet records a value that is stored.
func (c *common[K, V]) recordSet(r *record, u *update[K, V]) {
	a := recording.Access{Op: recording.Set, Key: u.hash, TTL: c.left(u.life.cap)}
	if c.weigh != nil {
		a.Weight = u.weight
	}
	r.Add(a)
}

// recordTouch records another deadline for a key.
func (c *common[K, V]) recordTouch(r *record, h uint64, deadline int64) {
	r.Add(recording.Access{Op: recording.Touch, Key: h, TTL: c.left(deadline)})
}

func (r *record) removed(h uint64) { r.Add(recording.Access{Op: recording.Remove, Key: h}) }

func (r *record) cleared() { r.Add(recording.Access{Op: recording.Clear}) }
