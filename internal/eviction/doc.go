// Package eviction has the two policies by which a shard of the cache evicts: [Order], the
// second-chance list that package lru describes, and [Adaptive]. They know slot numbers
// only. If entries have weights, the small queue of an Adaptive has a share of the weight,
// and light entries stay longer.
//
// Package lru offers both to other programs. A [Policy] has methods that only a shard needs: to
// read the memory for several evictions at once, to rename slots, and to hand the order over to
// other shards.
package eviction
