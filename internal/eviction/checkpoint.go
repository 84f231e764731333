package eviction

import mathbits "math/bits"

// checkpoints is how many checkpoints there are. A main queue with all slots has half of them, and
// more when entries between them were removed.
const checkpoints = 64

// checkpointing puts checkpoints into main, one before every group of entries. A
// checkpoint is a position without an entry. The time at which it was put there tells how
// old the entries after it are, even if some were removed. The time is how many victims
// small has had so far.
type checkpointing struct {
	now    uint32              // wraps around: only differences count
	every  int                 // how many entries a group has
	until  int                 // how many entries come before the next checkpoint
	free   uint64              // a bit for each checkpoint that is not in main
	oldest uint32              // the time of the checkpoint that left main last
	put    [checkpoints]uint32 // the time of each checkpoint in main
}

// due returns the checkpoint to put before the next entry, or false if none is due or free. In an
// empty queue one is always due.
func (c *checkpointing) due(empty bool) (k uint32, ok bool) {
	if !empty && c.until > 0 || c.free == 0 {
		c.until--
		return 0, false
	}
	c.until = c.every - 1
	k = uint32(mathbits.TrailingZeros64(c.free))
	c.free &^= 1 << k
	c.put[k] = c.now
	return k, true
}

// passed records that checkpoint k, the oldest, has left main.
func (c *checkpointing) passed(k uint32) {
	c.free |= 1 << k
	c.oldest = c.put[k]
}

// age returns how old main's oldest entry is.
func (c *checkpointing) age() int64 { return int64(c.now - c.oldest) }
