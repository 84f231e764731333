package cache

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestClearDrops: without OnRemove, Clear drops the arrays of a shard. What it counts is
// the same, nothing of the entries is left, and the cache is whole as it goes on. TestSimpleModel has
// what is found and expires then.
func TestClearDrops(t *testing.T) {
	for name, o := range map[string]Options[int, int]{
		"no limit": {},
		"limit":    {Limit: 10_000},
		"Adaptive": {Limit: 10_000, Policy: Adaptive},
		"weight":   {MaxWeight: 10_000, Weigh: func(k, _ int) uint32 { return uint32(k % 4) }},
		"Idle":     {Limit: 10_000, Idle: time.Hour},
		"Grace":    {Grace: 10 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o.Expire = time.Minute
				c := Must(o)
				const n, expired = 2000, 100
				for k := range n {
					if k < expired {
						c.SetWithExpire(k, k, 2*time.Millisecond)
					} else {
						c.Set(k, k)
					}
				}
				time.Sleep(20 * time.Millisecond) // less than a tick
				c.Clear()
				if got := c.Stats(); got.Removals.Cleared != n-expired || got.Removals.Expired != expired || got.Entries != 0 || got.Expiry.Tombstones != 0 {
					t.Errorf("%d cleared, %d expired, %d left, %d tombstones", got.Removals.Cleared, got.Removals.Expired, got.Entries, got.Expiry.Tombstones)
				}
				if err := c.check(); err != nil || c.Len() != 0 || slotsOf(c) > minSlots*len(c.common.table.Load().shards) {
					t.Errorf("%d entries, %d slots, %v", c.Len(), slotsOf(c), err)
				}
				for k := range n {
					c.Set(k, -k)
				}
				if err := c.check(); err != nil || c.Len() != n {
					t.Errorf("%d entries, %v", c.Len(), err)
				}
			})
		})
	}
}
