// Package index finds the entries of an array by the hashes of their keys.
package index

import "math/bits"

const (
	cells  = 12                 // in a group
	low    = 0x0101010101010101 // the lowest bit of every byte
	lanes  = 0x7f7f7f7f7f7f7f7f // all bits of every byte but the highest
	others = 1<<32 - 1          // the tags in group.tags[1]
	spill  = 1 << 32            // one in the count of spilled keys, above those tags

	// At most maxLoad in maxLoadOf cells are in use. At that load 7 keys in a
	// hundred are outside their home group.
	maxLoad, maxLoadOf = 17, 20
)

// An Index finds slot numbers by hash. It is an open-addressing table of groups
// of twelve cells, a group to a cache line. A cell is one byte of the hash, the
// tag, and the slot number; the key itself is only in the entry, where the
// caller compares it. Make one with [New].
//
// A key is in its home group or, if that is full, in the first group after it that
// has room. Every group counts the keys that passed over it: a lookup goes on to the
// next group only while that count is not zero, and a deletion decrements it. So there
// are no tombstones, and no rehash to get rid of them.
//
// The index uses bits 0 to 7 and 32 to 63 of a hash. The bits between are free, for
// example to choose among several indexes. An Index is not safe for concurrent use.
type Index struct {
	groups []Group
}

// A Group is twelve cells.
type Group struct {
	// tags[0] holds the tags of cells 0..7. The low half of tags[1] holds those
	// of cells 8..11, the high half the count of keys that passed over. Tag 0
	// is an empty cell.
	tags  [2]uint64
	slots [cells]uint32
}

// New returns an empty index with room for n slots. To give one more room, or
// less, make a new one and insert all slots again.
func New(n int) Index {
	if n == 0 {
		return Index{noRoom}
	}
	return Index{make([]Group, (n*maxLoadOf+maxLoad*cells-1)/(maxLoad*cells))}
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
//	if home.Spilled() {
//		return x.FindSpilled(h, is)
//	}
//	return 0, false
//
// Callers write this loop out, so that the compiler inlines the function is. That
// saves 4.5 of the 7 ns of a lookup, the main part of a Get.
func (x *Index) Home(h uint64) *Group { return &x.groups[x.home(h)] }

// FindSpilled searches the groups after Home for a slot under hash h for which the
// function is returns true. It calls is for every slot with that hash until then, and
// for a few with another hash.
func (x *Index) FindSpilled(h uint64, is func(i uint32) bool) (i uint32, ok bool) {
	g := x.home(h)
	for range x.groups { // at most, as every one of them may have spilled
		if !x.groups[g].Spilled() {
			break
		}
		g = x.next(g)
		grp := &x.groups[g]
		for m := grp.Match(h); m != 0; m = m.Next() {
			if i := grp.Slot(m); is(i) {
				return i, true
			}
		}
	}
	return 0, false
}

// Fetch reads from the group that a search for h begins with, so that one soon after does
// not wait for memory. What it returns means nothing, but must be used, or else the
// compiler leaves the reading out.
func (x *Index) Fetch(h uint64) uint64 { return x.groups[x.home(h)].tags[0] }

// Insert adds slot i under hash h. There must be room.
func (x *Index) Insert(h uint64, i uint32) {
	for g := x.home(h); ; g = x.next(g) {
		grp := &x.groups[g]
		if m := grp.match(0); m != 0 {
			c := m.cell()
			grp.tags[c/8] |= tag(h) << (c % 8 * 8)
			grp.slots[c] = i
			return
		}
		grp.tags[1] += spill
	}
}

// Remove removes slot i, which must be in the index under hash h.
func (x *Index) Remove(h uint64, i uint32) {
	for g := x.home(h); ; g = x.next(g) {
		grp := &x.groups[g]
		for m := grp.match(tag(h)); m != 0; m = m.Next() {
			if c := m.cell(); grp.slots[c] == i {
				grp.tags[c/8] &^= 0xff << (c % 8 * 8)
				return
			}
		}
		grp.tags[1] -= spill
	}
}

// tag returns the lowest byte of a hash, as it is stored in a cell: never 0.
func tag(h uint64) uint64 { return max(h&0xff, 1) }

// home returns the number of the group at which the search for h begins. It uses the
// upper half of the hash; tag uses the lowest byte.
func (x *Index) home(h uint64) int {
	return int((h >> 32) * uint64(len(x.groups)) >> 32)
}

func (x *Index) next(g int) int {
	if g++; g < len(x.groups) {
		return g
	}
	return 0
}

// A Match is a set of cells of a group, one bit for each: bit 8c+7 for cell c of
// the first word, and 8c+3 for cell 8+c.
type Match uint64

// Match returns the cells whose tag is that of h.
func (g *Group) Match(h uint64) Match { return g.match(tag(h)) }

func (g *Group) match(tag uint64) Match {
	return Match(equal(g.tags[0], tag) | equal(g.tags[1], tag)&others>>4)
}

// equal returns the highest bit of every byte of tags that equals tag.
func equal(tags, tag uint64) uint64 {
	diff := tags ^ tag*low
	return ^((diff&lanes + lanes) | diff | lanes)
}

// Next returns m without its first cell.
func (m Match) Next() Match { return m & (m - 1) }

// cell returns the number of the first cell of m.
func (m Match) cell() int {
	b := bits.TrailingZeros64(uint64(m))
	return b>>3 + ^b&4<<1
}

// Slot returns the slot number in the first cell of m.
func (g *Group) Slot(m Match) uint32 { return g.slots[m.cell()] }

// Spilled reports whether keys passed over g to a later group, because it was full.
func (g *Group) Spilled() bool { return g.tags[1] >= spill }
