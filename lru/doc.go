// Package lru keeps the order in which a cache evicts: least recently used
// first, with hits that cost next to nothing.
//
// A textbook LRU moves an entry to the front of a list on every hit, which
// takes the lock of the list and writes to the entry's neighbours. Here a hit
// only raises a two-bit mark. The entry stays where it is until eviction comes
// by; then it loses a mark and is moved on, and the first entry without a mark
// is the victim. This is the second-chance or clock algorithm (Corbató, "A
// Paging Experiment with the Multics System", 1968) in its generalized form
// with a counter (Smith, "Sequentiality and Prefetching in Database Systems",
// 1978), kept as a list. On most real traces its hit ratio is at or
// above that of the textbook LRU, because an entry used more than once outlives
// those used once.
//
// An [Adaptive] does the same with two queues, so that what is used once does not
// drive out what is used again: see there.
//
// An [Order] holds slot numbers and nothing else: no keys, no values, no lock
// and no clock. Whoever owns the slots keeps those.
package lru
