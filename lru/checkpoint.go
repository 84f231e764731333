package lru

import mathbits "math/bits"

// checkpoints is how many there are. Between two of them lie so many entries that
// a main queue of all slots has half of them; the others are for queues out of
// which entries were removed.
const checkpoints = 64

// checkpointing puts checkpoints into main: positions without an entry, one for each
// so many entries that come to its newest end. A checkpoint knows the time at which it
// was put there, and so how old the entries are that follow it, whatever was removed
// meanwhile. The time is the number of victims of small so far.
type checkpointing struct {
	now    uint32              // wraps, as only differences count
	every  int                 // entries between two checkpoints
	until  int                 // entries before the next one
	free   uint64              // a bit for each checkpoint that is not in main
	put    [checkpoints]uint32 // when each of the others was put there
	oldest uint32              // when the last one was that main's oldest end came by
}

// due reports whether a checkpoint is to be put before the next entry, and returns
// which. Before the first of an empty queue there is always one, unless all of them
// are in main.
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

// passed says that main's oldest end came by checkpoint k.
func (c *checkpointing) passed(k uint32) {
	c.free |= 1 << k
	c.oldest = c.put[k]
}

// age returns how old main's oldest entry is.
func (c *checkpointing) age() int64 { return int64(c.now - c.oldest) }
