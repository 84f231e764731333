// Package lru keeps the order in which a store evicts, with hits that cost almost nothing:
// one that evicts what was not used for longest, and one that also resists scans and loops.
// It knows slot numbers only. Keys, values, the lock and the clock belong to the owner of
// the slots. Package cache of this module evicts by the same two policies.
//
// A textbook LRU moves an entry to the front of a list on every hit, which
// takes the lock of the list and writes to the entry's neighbours. Here a hit
// only raises a two-bit mark. The entry stays where it is until eviction reaches
// it: then it loses a mark and is moved on. The first entry without a mark is
// the victim. This is the second-chance or clock algorithm (Corbató, "A
// Paging Experiment with the Multics System", 1968) in its generalized form
// with a counter (Smith, "Sequentiality and Prefetching in Database Systems",
// 1978), kept as a list. On most real traces that were tried its hit ratio is at or
// above that of the textbook LRU, because an entry used more than once outlives
// those used once.
//
// The adaptive order has two queues and moves entries by the same marks. It also remembers
// the latest victims of its small queue, three for a slot, each by a fingerprint of 16 bits.
// The position of a fingerprint tells how long ago the key was evicted. So a key that came
// back and is about to be evicted again can be compared with the oldest entries.
package lru
