// This file divides a shard: its entries, with all their state, go to the shards of a larger table.

package cache

import (
	"github.com/pinwheel-cache/pinwheel/cache/internal/clock"
	"github.com/pinwheel-cache/pinwheel/internal/index"
)

// A division moves the entries of a shard to the shards of a larger table to which its keys belong:
// every step-th from number first on.
type division[K comparable, V any] struct {
	from        *shard[K, V]
	larger      *table[K, V]
	first, step int
}

// run moves all in one hold of the lock. No other caller sees the shards of the larger table until
// then. They get the entries in the order in which they would be evicted, with
// all their state. A caller that finds the shard split goes on in the larger table.
func (d *division[K, V]) run() {
	s, larger := d.from, d.larger
	s.lock.Lock()
	defer s.lock.Unlock()
	hashes := make([]uint64, len(s.entries))
	sizes := make([]int, len(larger.shards)/d.step)
	for i := range s.entries {
		if e := &s.entries[i]; e.live() {
			hashes[i] = s.common.hasher.Hash(e.key)
			sizes[larger.number(hashes[i])/d.step]++
		}
	}
	for i := d.first; i < len(larger.shards); i += d.step {
		larger.shards[i].lock.Lock()
		defer larger.shards[i].lock.Unlock()
		d.prepare(&larger.shards[i], sizes[i/d.step])
	}
	move := func(i uint32) { d.move(i, hashes[i]) }
	if s.turn.order != nil {
		for i := range s.turn.order.All() {
			move(i)
		}
	} else {
		for i := range s.entries {
			if s.entries[i].live() {
				move(uint32(i))
			}
		}
	}
	s.pending.moveTo(func(h uint64) *pending[K, V] { return &larger.of(h).pending })
	d.moveCounts(&larger.shards[d.first])
	d.giveUp()
}

// prepare gives a shard the settings of the one that is being divided, and room for n of its entries.
func (d *division[K, V]) prepare(s *shard[K, V], n int) {
	from := d.from
	s.limited, s.noted, s.closed = from.limited, from.noted, from.closed
	if n > 0 {
		s.setSlots(max(n, minSlots))
	}
	if n > 0 && from.lives.any() {
		s.lives.makeTasks(s.common.size.ringSlots(len(d.larger.shards)), len(s.entries))
	}
	s.marks = s.turn.split(&from.turn, len(s.entries))
}

// move copies entry j, whose key has hash h.
func (d *division[K, V]) move(j uint32, h uint64) {
	s := d.larger.of(h)
	i := s.claimSlot()
	s.copyEntry(i, d.from, j)
	s.index.Insert(h, i)
	s.turn.adopt(i, &d.from.turn, j)
	switch deadline := s.entries[i].deadline.Get(); {
	case deadline == clock.Never:
	case deadline < 0: // dead: the next tick removes it
		s.setTask(i, s.common.time.nextTick())
	default:
		s.setTask(i, s.common.time.tickAt(deadline))
	}
}

// moveCounts gives a shard the counts.
func (d *division[K, V]) moveCounts(s *shard[K, V]) {
	s.lock.Count(d.from.lock.Counts())
	s.tally.inherit(&d.from.tally)
	s.removals = d.from.removals
}

// giveUp empties the shard, except for the table to which its entries moved, and what walks need that
// have pinned it.
func (d *division[K, V]) giveUp() {
	s := d.from
	s.split, s.moved = true, d.larger
	s.index = index.New(0)
	s.slots.drop()
	s.marks, s.limited = nil, false
	s.lives.drop(&s.common.time)
	s.tally.drop()
	s.turn.clear()
	if !s.slots.pinned() {
		s.forget()
	}
}

// forget drops what a shard that was divided kept for walks.
func (s *shard[K, V]) forget() {
	s.entries = nil
	s.lives.dropCaps()
	s.turn.drop()
}
