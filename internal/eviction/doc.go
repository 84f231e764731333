// Package eviction has the two policies by which a shard of the cache evicts: [Order], the
// second-chance list that package lru describes, and [Adaptive]. They know slot numbers
// only. If entries have weights, the small queue of an Adaptive has a share of the weight,
// and light entries stay longer.
//
// Package lru shows both to other programs. A [Policy] has more, for the owner of a shard
// only: it reads the memory of several evictions at once, renames slots, and hands the
// order over to other shards.
package eviction
