package eviction

import mathbits "math/bits"

// checkpoints is the number of checkpoints there are. A main queue with all slots has half
// of them. It has more when entries between them were removed.
const checkpoints = 64

// checkpointing puts checkpoints into main, one before every group of entries. A
// checkpoint is a position without an entry. It knows when it was put there, and so how
// old the entries after it are, even if some were removed. Time is the number of victims of
// small so far.
type checkpointing struct {
	now    uint32              // wraps around: only differences count
	every  int                 // the entries of a group
	until  int                 // entries before the next checkpoint
	free   uint64              // a bit for each checkpoint that is not in main
	oldest uint32              // the time of the checkpoint that left main last
	put    [checkpoints]uint32 // the time of each checkpoint in main
}

// due returns the checkpoint to put before the next entry, if one is due and free. It is
// always due in an empty queue.
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
