package lru

import mathbits "math/bits"

// checkpoints is the number of checkpoints. A main queue with all slots uses half of them;
// the others are for queues from which entries were removed.
const checkpoints = 64

// checkpointing puts checkpoints into main: positions without an entry, one before each
// every entries. A checkpoint knows the time at which it was put there, and so the age of
// the entries that follow it, whatever was removed meanwhile. The time is the number of
// victims of small so far.
type checkpointing struct {
	now    uint32              // wraps around: only differences count
	every  int                 // entries between two checkpoints
	until  int                 // entries before the next one
	free   uint64              // a bit for each checkpoint that is not in main
	oldest uint32              // when the last one to leave main's oldest end was put into main
	put    [checkpoints]uint32 // when each one in main was put there
}

// due returns the checkpoint to put before the next entry, if one is due. One is always due
// before the first entry of an empty queue, unless all are in main.
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

// passed records that checkpoint k has left main's oldest end.
func (c *checkpointing) passed(k uint32) {
	c.free |= 1 << k
	c.oldest = c.put[k]
}

// age returns how old main's oldest entry is.
func (c *checkpointing) age() int64 { return int64(c.now - c.oldest) }
