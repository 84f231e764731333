package main

import (
	"math/rand/v2"

	zipf "github.com/pinwheel-cache/pinwheel/bench/load"
)

const (
	keys     = 200_000
	capacity = 100_000
)

// A content says which keys a cache has in which slots. Each shard evicts by the clock
// algorithm. All contenders use it, so they hit and evict equally often.
type content struct {
	shards   int
	perShard int
	slot     []int32 // of a key, or -1
	key      []int32 // of a slot, or -1
	marks    []uint8 // of a slot
	hand     []int   // of a shard: the oldest slot
	hash     []uint64
}

// newContent returns the content of a cache that has been used for a while, with the keys
// in the order of a load.
func newContent(shards int, order []uint32, seed uint64) *content {
	c := &content{
		shards: shards, perShard: capacity / shards,
		slot: make([]int32, keys), hash: make([]uint64, keys), hand: make([]int, shards),
	}
	c.key, c.marks = make([]int32, shards*c.perShard), make([]uint8, shards*c.perShard)
	random := rand.New(rand.NewPCG(seed, 1))
	for k := range c.slot {
		c.slot[k], c.hash[k] = -1, random.Uint64()
	}
	for i := range c.key {
		c.key[i] = -1
	}
	for _, k := range order {
		if i, ok := c.find(int(k)); ok {
			c.hit(i)
		} else {
			c.replace(int(k))
		}
	}
	return c
}

// shard returns the shard of a key, by other hash bits than group.
func (c *content) shard(key int) int { return int(c.hash[key] & uint64(c.shards-1)) }

// group returns which of n parts of its shard's index a key belongs to.
func (c *content) group(key, n int) int {
	return c.shard(key)*n + int(c.hash[key]>>32*uint64(n)>>32)
}

func (c *content) find(key int) (slot int, ok bool) {
	i := c.slot[key]
	return int(i), i >= 0
}

const maxMark = 3

// hit marks a slot, and returns false if it has all marks already.
func (c *content) hit(slot int) bool {
	if c.marks[slot] == maxMark {
		return false
	}
	c.marks[slot]++
	return true
}

// oldest returns the slot at the hand of a shard.
func (c *content) oldest(shard int) int { return shard*c.perShard + c.hand[shard] }

// spare takes a mark from the oldest slot of a shard and moves on, or returns false if it
// has none.
func (c *content) spare(shard int) bool {
	if i := c.oldest(shard); c.marks[i] > 0 {
		c.marks[i]--
		c.hand[shard] = (c.hand[shard] + 1) % c.perShard
		return true
	}
	return false
}

// replace evicts the oldest key of a shard without a mark for another one, and returns the
// slot.
func (c *content) replace(key int) (slot int) {
	s := c.shard(key)
	for c.spare(s) {
	}
	slot = c.oldest(s)
	if old := c.key[slot]; old >= 0 {
		c.slot[old] = -1
	}
	c.key[slot], c.slot[key] = int32(key), int32(slot)
	c.hand[s] = (c.hand[s] + 1) % c.perShard
	return slot
}

// neighbour returns a random slot of the same shard: neighbours in an order by use are
// anywhere in memory.
func (c *content) neighbour(p *proc, slot int) int {
	return slot/c.perShard*c.perShard + p.random.IntN(c.perShard)
}

// live returns the keys of as many slots, at random.
func (c *content) live(random []uint32) []uint32 {
	keys := make([]uint32, 0, len(random))
	for _, r := range random {
		if k := c.key[int(r)%len(c.key)]; k >= 0 {
			keys = append(keys, uint32(k))
		}
	}
	return keys
}

// draw returns keys by a distribution.
func draw(distribution string, seed uint64) []uint32 {
	const n = 1 << 20
	random := rand.New(rand.NewPCG(seed, 2))
	switch distribution {
	case "zipf":
		return zipf.Zipf(random, keys, n)
	case "uniform":
		return zipf.Uniform(random, keys, n)
	default: // one key
		return []uint32{0}
	}
}
