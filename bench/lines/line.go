package main

import "slices"

// A line is the number of a cache line that several processors use.
type line int32

// costs are the times of an access to a line, in nanoseconds.
type costs struct {
	hit    float64 // in the processor's own cache
	shared float64 // unchanged, from the cache that a group of processors shares
	near   float64 // from another processor of the group, which wrote it or loses it
	far    float64 // from a processor of another group
	memory float64
	atomic float64 // added by a read-modify-write to a write
}

// epyc is an AMD EPYC: near and far as bench/distance.go measures them.
var epyc = costs{hit: 0.5, shared: 13, near: 20, far: 95, memory: 90, atomic: 5}

const nobody = -1

// A state is the MESI state of a line: modified if it has an owner, else shared by all that
// have a copy. Exclusive counts as modified.
type state struct {
	owner  int16     // the processor that wrote it and has the only copy, or nobody
	copies [2]uint64 // a bit for each processor with a copy
	groups uint32    // a bit for each group whose shared cache has it
	busy   float64   // when its last transfer ends
}

func (s *state) has(p *proc) bool { return s.copies[p.id/64]>>(p.id%64)&1 != 0 }

func (s *state) add(p *proc) {
	s.copies[p.id/64] |= 1 << (p.id % 64)
	s.groups |= 1 << p.group
}

func (s *state) drop(p *proc) {
	s.copies[p.id/64] &^= 1 << (p.id % 64)
	if s.owner == int16(p.id) {
		s.owner = nobody // written back, to the shared cache of the group
	}
}

// alone reports whether no other processor has a copy.
func (s *state) alone(p *proc) bool {
	others := s.copies
	others[p.id/64] &^= 1 << (p.id % 64)
	return others == [2]uint64{} && s.groups&^(1<<p.group) == 0
}

// access lets p read a line, or with write change it, and advances its time. Transfers of a
// line between processors follow one another in the order of the requests.
func (m *machine) access(p *proc, l line, write bool) {
	s := &m.lines[l]
	if s.has(p) && (!write || s.owner == int16(p.id) || s.alone(p)) {
		p.now += m.hit
	} else {
		cost, moves := m.transfer(p, s, write)
		p.now = max(p.now, s.busy) + cost
		if moves || write {
			s.busy = p.now
		}
		p.keep(l)
	}
	if write {
		s.owner, s.copies, s.groups = int16(p.id), [2]uint64{}, 0
	} else if s.owner != int16(p.id) {
		s.owner = nobody
	}
	s.add(p)
	if m.trace != nil {
		m.trace(p, l, write)
	}
}

// transfer returns the cost for p to get a line, and whether that occupies another processor,
// so that the line cannot go elsewhere meanwhile.
func (m *machine) transfer(p *proc, s *state, write bool) (cost float64, moves bool) {
	own := uint32(1) << p.group
	switch {
	case s.owner != nobody && s.groups != own, write && s.groups&^own != 0:
		return m.far, true
	case s.owner != nobody, write && !s.alone(p):
		return m.near, true
	case s.groups&own != 0:
		return m.shared, false
	default:
		return m.memory, false
	}
}

// cacheLines is how many lines a processor's own cache has: 1 MiB.
const cacheLines = 1 << 14

// keep puts a line into the processor's own cache, instead of another one.
func (p *proc) keep(l line) {
	at := &p.cache[uint32(l)*0x9E3779B1>>(32-14)]
	if *at != l && *at >= 0 {
		p.m.lines[*at].drop(p)
	}
	*at = l
}

// An array is consecutive memory of elements of a size, from a line's beginning on.
type array struct {
	first line
	bytes int
}

func (a array) at(i int) line { return a.first + line(i*a.bytes/64) }

// array allocates n elements, which are in the shared caches of all groups. name is for
// traces.
func (m *machine) array(name string, n, bytes int) array {
	a := array{line(len(m.lines)), bytes}
	for range (n*bytes + 63) / 64 {
		m.lines = append(m.lines, state{owner: nobody, groups: 1<<m.groups() - 1})
	}
	m.names = append(m.names, named{a.first, name})
	return a
}

// A named is the first line of an array with a name.
type named struct {
	first line
	name  string
}

// name returns the name of the array to which a line belongs.
func (m *machine) name(l line) string {
	i, found := slices.BinarySearchFunc(m.names, l, func(n named, l line) int { return int(n.first - l) })
	if !found {
		i--
	}
	return m.names[i].name
}
