package eviction

import "iter"

// A Policy chooses the entry that a full shard of a cache evicts: it is an [Order] or an
// [Adaptive]. It knows entries by their slot numbers, and keys by hashes of 64 bits, which must be
// evenly distributed.
//
// These calls store a key with hash h in a full shard:
//
//	i, _ := policy.Victim()
//	for policy.Promote(i, hashOfEntry(i)) {
//		i, _ = policy.Victim()
//	}
//	policy.Replace(i, h)
//
// Mark, also that of Marks, may be called by any number of goroutines at once. Every other
// method needs exclusive access: not even Mark may run concurrently.
type Policy interface {
	// Len returns the number of entries.
	Len() int

	// Resize makes room for the slot numbers below n and keeps the order, which must hold
	// no entry at or above n.
	Resize(n int)

	// Weigh sets the weights of the entries, if their owner limits the weight: entry i weighs
	// weights[i], above 0. Without Weigh each entry weighs 1. Weigh must follow every Resize, with
	// n weights. The slice stays the owner's, who sets the weight of an entry before Insert or
	// Adopt, and calls Reweigh before it changes the weight of an entry in the order.
	Weigh(weights []uint32)

	// Reweigh notes that entry i, which is in the order, is about to weigh weight.
	Reweigh(i, weight uint32)

	// Marks returns the marks of the entries. It always returns the same pointer.
	Marks() *Marks

	// Mark notes a hit of entry i.
	Mark(i uint32)

	// Victim returns the entry to evict, or false if there is none. The entry stays in the
	// order. Victim moves the used entries before it to the newest end: at most 128 until an
	// entry is evicted or removed, and together with Promote at most 144.
	Victim() (i uint32, ok bool)

	// Promote reports whether entry i stays after all, because its key came back soon. i must be
	// what Victim returned last, and h the hash of its key. If the entry stays, it is now among
	// the newest, and Victim must be called again. Otherwise an Adaptive remembers the key, and
	// Remove must follow.
	Promote(i uint32, h uint64) bool

	// Ahead returns the entries that Victim will return next unless they are used before, or
	// none if it has returned them already. They are valid until the next call. The caller
	// sets the hash of each, calls Prefetch with them, and reads whatever else it needs to
	// evict them. So the memory of several entries is fetched at once: to fetch it for one entry
	// after another takes several times as long.
	Ahead() []Next

	// Prefetch reads what Promote needs of entries that Ahead returned. The result means
	// nothing, but must be used: otherwise the compiler removes the reads.
	Prefetch(entries []Next) uint64

	// PrefetchRemove reads what Remove needs of entry i, which is in the order. The result
	// must be used, like that of Prefetch.
	PrefetchRemove(i uint32) uint64

	// Insert adds entry i, which is not in the order, without a mark. Its key has hash h.
	Insert(i uint32, h uint64)

	// Replace removes entry i, which is in the order, and inserts in its slot an entry of the same
	// weight, whose key has hash h.
	Replace(i uint32, h uint64)

	// Remove removes entry i, which is in the order.
	Remove(i uint32)

	// Rename moves an entry from slot from, which is in the order, to slot to, which is not. The
	// entry keeps its position and its mark.
	Rename(from, to uint32)

	// Split returns an empty policy of the same kind for a part of the entries, with room
	// for the slot numbers below n. The new policy knows what this one has learned, but not the
	// keys that it remembers.
	Split(n int) Policy

	// Adopt adds entry i, which is not in the order, as a copy of entry from in another
	// policy of the same kind: with its mark, as the newest of the same queue. Entries that are
	// adopted in the order of All stay in that order.
	Adopt(i uint32, other Policy, from uint32)

	// First returns the first entry of All, and After the one that follows entry i
	// there. They report false if there is none.
	First() (i uint32, ok bool)
	After(i uint32) (j uint32, ok bool)

	// Heat returns how many marks, 0 to 3, entry i should get in a new policy, to be as far from
	// eviction there.
	Heat(i uint32) uint8

	// All returns an iterator over the entries in the order of eviction, regardless of
	// marks. The order must not change meanwhile.
	All() iter.Seq[uint32]
}
