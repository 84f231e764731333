package cache

import "math/bits"

const (
	cells  = 12                 // in a group
	low    = 0x0101010101010101 // the lowest bit of every byte
	lanes  = 0x7f7f7f7f7f7f7f7f // all bits of every byte but the highest
	others = 1<<32 - 1          // the tags in group.tags[1]
	spill  = 1 << 32            // one in the count above them

	// The index grows when more than maxLoad in maxLoadOf cells would be in use.
	// At four fifths about one group in eight is full and spills.
	maxLoad, maxLoadOf = 4, 5
)

// An index finds slot numbers by hash. It is an open-addressing table of groups
// of twelve cells, a group to a cache line. A cell is one byte of the hash, the
// tag, and the slot number; the key itself is only in the entry, where the
// caller compares it.
//
// A key lives in its home group or, if that is full, in the first one after it
// that has room. Every group counts the keys that passed over it and live
// farther on: a lookup goes on to the next group only while that count is not
// zero, and a deletion counts down again, so there are no tombstones and never a
// rehash to get rid of them.
type index struct {
	groups []group
}

type group struct {
	// tags[0] holds the tags of cells 0..7. The low half of tags[1] holds those
	// of cells 8..11, the high half the count of keys that passed over. Tag 0
	// is an empty cell.
	tags  [2]uint64
	slots [cells]uint32
}

// groupsFor returns the number of groups that n slots need.
func groupsFor(n int) int { return (n*maxLoadOf + maxLoad*cells - 1) / (maxLoad * cells) }

// tag returns the byte of the hash that goes into the table, never 0.
func tag(h uint64) uint64 { return max(h&0xff, 1) }

// home returns the group at which the search for h begins. It takes the upper
// half of the hash; tag and the choice of the shard take bits of the lower.
func (x *index) home(h uint64) int {
	return int((h >> 32) * uint64(len(x.groups)) >> 32)
}

func (x *index) next(g int) int {
	if g++; g < len(x.groups) {
		return g
	}
	return 0
}

// match returns the highest bit of every byte of tags that equals tag.
func match(tags, tag uint64) uint64 {
	diff := tags ^ tag*low
	return ^((diff&lanes + lanes) | diff | lanes)
}

// cell returns the number of the cell of the lowest match.
func cell(m uint64) int { return bits.TrailingZeros64(m) / 8 }

func (g *group) spilled() bool { return g.tags[1] >= spill }

// insert adds slot i under hash h. There must be room.
func (x *index) insert(h uint64, i uint32) {
	for g := x.home(h); ; g = x.next(g) {
		grp := &x.groups[g]
		if m := match(grp.tags[0], 0); m != 0 {
			grp.put(0, cell(m), h, i)
			return
		}
		if m := match(grp.tags[1], 0) & others; m != 0 {
			grp.put(1, cell(m), h, i)
			return
		}
		grp.tags[1] += spill
	}
}

func (g *group) put(word, cell int, h uint64, i uint32) {
	g.tags[word] |= tag(h) << (8 * cell)
	g.slots[8*word+cell] = i
}

// remove takes slot i, which must be there under hash h, out.
func (x *index) remove(h uint64, i uint32) {
	for g := x.home(h); ; g = x.next(g) {
		grp := &x.groups[g]
		if word, c, ok := grp.find(h, i); ok {
			grp.tags[word] &^= 0xff << (8 * c)
			return
		}
		grp.tags[1] -= spill
	}
}

// find returns the cell of slot i in the group, and false if it is not there.
func (g *group) find(h uint64, i uint32) (word, c int, ok bool) {
	for m := match(g.tags[0], tag(h)); m != 0; m &= m - 1 {
		if c := cell(m); g.slots[c] == i {
			return 0, c, true
		}
	}
	for m := match(g.tags[1], tag(h)) & others; m != 0; m &= m - 1 {
		if c := cell(m); g.slots[8+c] == i {
			return 1, c, true
		}
	}
	return 0, 0, false
}
