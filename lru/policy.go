package lru

import "iter"

// A Policy decides which entry of a cache shard goes when there is no room for a new
// one: [Order] is one, and [Adaptive]. It knows entries by their slot numbers, and
// keys by hashes of 64 bits, each of which is to be as good as a random number.
//
// A new entry for a key with hash h, in a shard that is full, takes these calls:
//
//	i, _ := policy.Victim()
//	for policy.Spare(i, hashOfEntry(i)) {
//		i, _ = policy.Victim()
//	}
//	policy.Evict(i, hashOfEntry(i))
//	policy.Insert(i, h)
//
// Mark, and that of Marks, may be called by any number of goroutines at once. Every
// other method needs the Policy for itself: no Mark may run beside it.
type Policy interface {
	// Len returns the number of entries.
	Len() int

	// Resize makes room for the slot numbers below n, keeping the order. No entry at
	// or above n may be in it.
	Resize(n int)

	// Marks returns the marks of the entries, which are the same for ever.
	Marks() *Marks

	// Mark notes a hit of entry i.
	Mark(i uint32)

	// Victim returns the entry to evict, and leaves it in the order. It reports false
	// if there is none. Before, entries that were used are moved on: 128 at most, until
	// one is evicted or removed, and with Spare 144.
	Victim() (i uint32, ok bool)

	// Spare reports whether entry i, which Victim has just returned and whose key has
	// hash h, is to stay for all that, as its key came back soon. Then it was moved on,
	// and Victim is to be asked again.
	Spare(i uint32, h uint64) bool

	// Insert adds entry i, which is not in the order and whose key has hash h, without
	// a mark.
	Insert(i uint32, h uint64)

	// Evict takes entry i, which is in the order and whose key has hash h, out of it.
	Evict(i uint32, h uint64)

	// Remove takes entry i, which is in the order, out of it: one that was deleted or
	// has expired. Nothing is remembered of its key.
	Remove(i uint32)

	// Rename gives entry from, which is in the order, the slot number to, which is
	// not. Its place and its mark stay.
	Rename(from, to uint32)

	// Split returns a policy of the same kind without entries and with room for the slot
	// numbers below n, for a part of the entries of this one. It goes on with what this
	// one has found out, but not with the keys that it remembers.
	Split(n int) Policy

	// Adopt adds entry i, which is not in the order, as Insert does, but where entry from
	// of another policy of the same kind is, and with the mark of that. Entries that are
	// adopted as All has them stay in their order.
	Adopt(i uint32, other Policy, from uint32)

	// First returns the first entry of All, and After the one that follows entry i
	// there. They report false if there is none.
	First() (i uint32, ok bool)
	After(i uint32) (j uint32, ok bool)

	// Heat returns how far entry i is from eviction, beside its place: 0 to 3. That
	// many marks are good for it in another order.
	Heat(i uint32) uint8

	// All returns an iterator over the entries, those first that are to go first as
	// far as that can be said without regard to marks. They must not change
	// meanwhile.
	All() iter.Seq[uint32]
}
