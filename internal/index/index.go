// Package index finds the entries of an array by the hashes of their keys.
package index

import "fmt"

const (
	cells = 12 // in a group

	// At most maxLoad in maxLoadOf cells are in use. At that load one key in twenty is outside
	// its home group. At 17 in 20 it would be one in ten: an eviction would take a fifth longer,
	// and a key 0.8 bytes less.
	maxLoad, maxLoadOf = 15, 20

	// MaxSlots is how many slot numbers there are: a cell keeps 28 bits of one.
	MaxSlots = 1 << slotBits
	slotBits = 28

	// far is the distance that a cell keeps for all keys that are so far from home or farther.
	far = 1<<(32-slotBits) - 1
)

// An Index finds slot numbers by hash. It is an open-addressing table of groups
// of twelve cells, a group to a cache line. A cell is one byte of the hash, the
// tag, and the slot number; the key itself is only in the entry, where the
// caller compares it. Make one with [New].
//
// A key is in its home group or, if that is full, in another. Each of the eight classes of tags
// has its own stride, by which its keys go on from home to the first group that has room. Every
// group counts, for each class, the keys that passed over it. A lookup goes on to the next
// group only while that count is not zero, as in F14 (Bronson and Shi, "Open-sourcing F14
// for faster, more memory-efficient hash tables", 2019), and a deletion decrements it. So
// there are no tombstones, and no rehash to get rid of them.
//
// A deletion that makes room in a group brings back a key that passed over it. For that,
// a cell keeps how far its key is from home. Otherwise, in a full cache where keys come
// and go, 15 keys in a hundred would be outside their home groups after a while.
//
// The index uses bits 0 to 7 and 32 to 63 of a hash. The bits between are free, for
// example to choose among several indexes. An Index is not safe for concurrent use, but
// any number of goroutines may search it while none changes it.
type Index struct {
	groups []Group // an odd number, so that each stride leads to all of them
}

// New returns an empty index with room for n slots, at most [MaxSlots]. An index does not grow: for
// another size, make a new one and insert all slots again.
func New(n int) Index {
	if n > MaxSlots {
		panic(fmt.Sprintf("index: room for %d slots, want at most %d", n, MaxSlots))
	}
	if n == 0 {
		return Index{noRoom}
	}
	return Index{make([]Group, (n*maxLoadOf+maxLoad*cells-1)/(maxLoad*cells)|1)}
}

// noRoom is the group of every index without room. It is searched but never written.
var noRoom = make([]Group, 1)

// Home returns the group in which a search for h begins, and usually ends:
//
//	home := x.Home(h)
//	for m := home.Match(h); m != 0; m = m.Next() {
//		if i := home.Slot(m); is(i) {
//			return i, true
//		}
//	}
//	if home.Passed(h) {
//		return x.FindPassed(h, is)
//	}
//	return 0, false
//
// Callers write this loop out, so that the compiler inlines the function is. That
// saves 4.5 of the 7 ns of a lookup, the main part of a Get.
func (x *Index) Home(h uint64) *Group { return &x.groups[x.home(h)] }

// FindPassed searches the groups after Home for a slot under hash h for which is returns
// true. Until it has found one, it calls is for every slot with that hash, and
// for a few with other hashes.
func (x *Index) FindPassed(h uint64, is func(i uint32) bool) (i uint32, ok bool) {
	g, t := x.home(h), tag(h)
	for range x.groups { // at most, as keys may have passed over every one of them
		if x.groups[g].passed(class(t)) == 0 {
			break
		}
		g = x.next(g, class(t))
		grp := &x.groups[g]
		for m := grp.match(t); m != 0; m = m.Next() {
			if i := grp.Slot(m); is(i) {
				return i, true
			}
		}
	}
	return 0, false
}

// PrefetchHome reads the home group of h. Its result must be used, like that of Prefetch.
func (x *Index) PrefetchHome(h uint64) uint64 { return x.groups[x.home(h)].tags[1] }

// Prefetch reads the groups that a removal of h probably needs, so that a removal soon after
// does not wait for memory. The result means nothing, but must be used: otherwise the
// compiler removes the reads.
func (x *Index) Prefetch(h uint64) uint64 {
	g := x.home(h)
	if m := x.groups[g].passers(); m != 0 {
		g = x.next(g, m.class())
	}
	return x.groups[g].tags[0]
}

// Insert adds slot i under hash h. There must be room.
func (x *Index) Insert(h uint64, i uint32) {
	g, t := x.home(h), tag(h)
	for distance := uint32(0); ; distance++ {
		grp := &x.groups[g]
		if m := grp.match(0); m != 0 {
			grp.put(m.cell(), t, i, min(distance, far))
			return
		}
		grp.pass(class(t))
		g = x.next(g, class(t))
	}
}

// Remove removes slot i, which must be in the index under hash h.
func (x *Index) Remove(h uint64, i uint32) {
	g, t := x.home(h), tag(h)
	for ; ; g = x.next(g, class(t)) {
		grp := &x.groups[g]
		for m := grp.match(t); m != 0; m = m.Next() {
			if grp.Slot(m) == i {
				grp.clear(m.cell())
				x.bringBack(g, m.cell())
				return
			}
		}
		grp.unpass(class(t))
	}
}

// bringBack fills cell c of group g, which is empty, with a key that passed over g, if
// there is one that is not far from home. The cell that the key leaves stays empty.
func (x *Index) bringBack(g int, c uint) {
	to := &x.groups[g]
	for m := to.passers(); m != 0; m = m.next() {
		class, from := m.class(), g
		for steps := uint32(1); steps < far && x.groups[from].passed(class) > 0; steps++ {
			from = x.next(from, class)
			if old, ok := x.groups[from].passer(class, steps); ok {
				x.groups[from].moveTo(old, to, c, steps)
				for ; g != from; g = x.next(g, class) {
					x.groups[g].unpass(class)
				}
				return
			}
		}
	}
}

// home returns the number of the group at which the search for h begins. It uses the
// upper half of the hash; tag uses the lowest byte.
func (x *Index) home(h uint64) int {
	return int((h >> 32) * uint64(len(x.groups)) >> 32)
}

// next returns the number of the group that keys of a class go on to from group g.
func (x *Index) next(g int, class uint64) int {
	n := uint(g) + 1<<class
	if n >= uint(len(x.groups)) {
		n %= uint(len(x.groups))
	}
	return int(n)
}
