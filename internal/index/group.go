package index

import "math/bits"

const (
	low   = 0x0101010101010101 // the lowest bit of every byte
	lanes = 0x7f7f7f7f7f7f7f7f // all bits of every byte but the highest
	tags4 = 1<<32 - 1          // the tags in Group.tags[1]

	classes = 8  // of tags, by their lowest bits
	many    = 15 // the greatest count, at which a count stays
)

// A Group is twelve cells.
type Group struct {
	// tags[0] holds the tags of cells 0..7. The low half of tags[1] holds those
	// of cells 8..11. The high half has eight counts of four bits: the keys of each
	// class that passed over the group. Tag 0 is an empty cell.
	tags [2]uint64

	// Each has a slot number and, in the four bits above, the distance of the key from home.
	slots [cells]uint32
}

// tag returns the lowest byte of a hash, as it is stored in a cell: never 0.
func tag(h uint64) uint64 { return max(h&0xff, 1) }

// class returns the class of a tag.
func class(tag uint64) uint64 { return tag % classes }

// Passed reports whether a key with hash h may be in a later group, because it passed over g when g
// was full.
func (g *Group) Passed(h uint64) bool { return g.passed(class(tag(h))) != 0 }

// passed returns how many keys of a class passed over g.
func (g *Group) passed(class uint64) uint64 { return g.tags[1] >> (32 + 4*class) & many }

// pass counts a key of a class that passes over g.
func (g *Group) pass(class uint64) {
	if g.passed(class) < many {
		g.tags[1] += 1 << (32 + 4*class)
	}
}

// unpass undoes pass.
func (g *Group) unpass(class uint64) {
	if g.passed(class) < many {
		g.tags[1] -= 1 << (32 + 4*class)
	}
}

// passers returns the classes that have keys which passed over g.
func (g *Group) passers() classSet { return classSet(g.tags[1] >> 32) }

// A classSet is a set of classes. It has four bits for each class, which are zero if the class is
// not in the set.
type classSet uint32

// class returns the first class of s.
func (s classSet) class() uint64 { return uint64(bits.TrailingZeros32(uint32(s)) / 4) }

// next returns s without its first class.
func (s classSet) next() classSet { return s &^ (many << (4 * s.class())) }

// put fills cell c, which is empty.
func (g *Group) put(c uint, tag uint64, i, distance uint32) {
	g.tags[c/8] |= tag << (c % 8 * 8)
	g.slots[c] = i | distance<<slotBits
}

// clear empties cell c.
func (g *Group) clear(c uint) { g.tags[c/8] &^= 0xff << (c % 8 * 8) }

// passer returns a cell with a key of a class whose distance from home is at least steps, but
// less than far. It returns false if there is none.
func (g *Group) passer(class uint64, steps uint32) (c uint, ok bool) {
	for m := g.matchBits(class, classes-1); m != 0; m = m.Next() {
		c := m.cell()
		if d := g.distance(c); steps <= d && d < far && g.tag(c) != 0 {
			return c, true
		}
	}
	return 0, false
}

// moveTo moves a key from cell c to an empty cell of another group, which is steps strides
// nearer to the home of the key.
func (g *Group) moveTo(c uint, to *Group, empty uint, steps uint32) {
	to.put(empty, g.tag(c), g.slot(c), g.distance(c)-steps)
	g.clear(c)
}

func (g *Group) tag(c uint) uint64      { return g.tags[c/8] >> (c % 8 * 8) & 0xff }
func (g *Group) slot(c uint) uint32     { return g.slots[c] & (MaxSlots - 1) }
func (g *Group) distance(c uint) uint32 { return g.slots[c] >> slotBits }

// A Match is a set of cells of a group, one bit for each: bit 8c+7 for cell c of
// the first word, and 8c+3 for cell 8+c.
type Match uint64

// Match returns the cells whose tag is that of h.
func (g *Group) Match(h uint64) Match { return g.match(tag(h)) }

func (g *Group) match(tag uint64) Match {
	return Match(equal(g.tags[0], tag) | equal(g.tags[1], tag)&tags4>>4)
}

// matchBits returns the cells whose tags are equal to tag in the bits of mask.
func (g *Group) matchBits(tag, mask uint64) Match {
	masked := Group{tags: [2]uint64{g.tags[0] & (mask * low), g.tags[1] & (mask * low)}}
	return masked.match(tag)
}

// equal returns the highest bit of every byte of tags that equals tag.
func equal(tags, tag uint64) uint64 {
	diff := tags ^ tag*low
	return ^((diff&lanes + lanes) | diff | lanes)
}

// Next returns m without its first cell.
func (m Match) Next() Match { return m & (m - 1) }

// cell returns the number of the first cell of m.
func (m Match) cell() uint { // unsigned, so that dividing it takes one instruction
	b := uint(bits.TrailingZeros64(uint64(m)))
	return b>>3 + ^b&4<<1
}

// Slot returns the slot number in the first cell of m.
func (g *Group) Slot(m Match) uint32 { return g.slot(m.cell()) }
