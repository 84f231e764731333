package eviction

import (
	"fmt"
	"slices"
)

// adaptiveModel is the adaptive policy on slices, oldest first. It shares with the code
// only the parameters, and the row and fingerprint of a key.
type adaptiveModel struct {
	small []uint32
	main  []mainItem
	marks map[uint32]int

	slots, target  int
	lateReturns    int
	moved          int // entries moved on since the last one left
	won            bool
	ghost          [][]uint64    // rows, the latest first; 0 is a hole
	recent         [2][][]uint64 // rows of small and of main
	sampleEvery    int           // one hash in so many is in them
	now, oldest    int
	every, pending int // entries between checkpoints, and before the next one

	kept              map[uint32]int  // the marks that the last pass left to an entry of the sample, in main
	stayed            map[uint32]bool // and whether it had not been used before
	all, worse        bool            // entries lose all marks; old marks brought too little
	met               int
	idle, used, again int // the last revolutions count less

	weights map[uint32]int // nil if all weigh 1
	passed  int            // of the weight of entries passed over, less than the mean
}

// sum returns the weight of entries.
func (m *adaptiveModel) sum(entries []uint32) (sum int) {
	for _, i := range entries {
		sum += m.weights[i]
	}
	return sum
}

// mean returns the mean weight of the entries.
func (m *adaptiveModel) mean() int { return m.sum(m.entries()) / m.len() }

// smallLen returns the length of small in entries of the mean weight.
func (m *adaptiveModel) smallLen() int {
	if m.weights == nil || len(m.small) == 0 {
		return len(m.small)
	}
	return m.sum(m.small) / m.mean()
}

// bounded returns the weight of entry i: a quarter of the mean to the mean.
func (m *adaptiveModel) bounded(i uint32) int {
	return min(max(m.weights[i], m.mean()/4), m.mean())
}

// take takes a mark from an entry that is passed over. In main a light entry keeps it until
// the entries passed over weigh as much as one of the mean weight.
func (m *adaptiveModel) take(i uint32, inMain bool) {
	if m.weights != nil && inMain {
		if m.passed += m.bounded(i); m.passed < m.mean() {
			return
		}
		m.passed -= m.mean()
	}
	switch {
	case !inMain:
		m.marks[i]--
		return
	case i%8 == 0:
		stayed := m.marks[i] <= m.kept[i]
		m.count(i)
		m.marks[i]--
		m.kept[i], m.stayed[i] = m.marks[i], stayed
	case m.all:
		m.marks[i] = 0
	default:
		m.marks[i]--
	}
	m.meet()
}

// count counts what an entry of the sample did since the last pass.
func (m *adaptiveModel) count(i uint32) {
	if m.stayed[i] {
		m.idle++
		if m.marks[i] > m.kept[i] {
			m.used++
		}
	}
}

// meet decides once for each revolution of main.
func (m *adaptiveModel) meet() {
	if m.met++; m.met < len(m.mainEntries()) {
		return
	}
	before := m.worse
	m.worse = m.idle >= 8 && 8*m.used*(m.slots*4/100) < m.again*m.idle
	m.all = before && m.worse
	m.met, m.idle, m.used, m.again = 0, m.idle/2, m.used/2, m.again/2
}

// forgetKept is for an entry that comes to main.
func (m *adaptiveModel) forgetKept(i uint32) {
	delete(m.kept, i)
	delete(m.stayed, i)
}

// A mainItem is an entry or a checkpoint.
type mainItem struct {
	entry      uint32
	checkpoint bool
	put        int
}

func (m *adaptiveModel) len() int { return len(m.small) + len(m.mainEntries()) }

func (m *adaptiveModel) mainEntries() (entries []uint32) {
	for _, item := range m.main {
		if !item.checkpoint {
			entries = append(entries, item.entry)
		}
	}
	return entries
}

func (m *adaptiveModel) entries() []uint32 { return append(slices.Clone(m.small), m.mainEntries()...) }

func (m *adaptiveModel) resize(n int) {
	if m.slots > 0 && n >= m.slots-m.slots/8 && n <= m.slots+m.slots/8 {
		return
	}
	target := n * 2 * unit / 100
	if m.slots > 0 && m.now > 0 {
		target = m.target * n / m.slots
	}
	m.slots, m.every = n, max(1, n/32)
	m.setTarget(target)
	m.ghost = make([][]uint64, max(1, (3*n+8)/16))
	m.sampleEvery = 1
	for n*4/100 >= 32*m.sampleEvery {
		m.sampleEvery *= 2
	}
	for q := range m.recent {
		m.recent[q] = make([][]uint64, max(1, n*4/100/m.sampleEvery/4))
	}
}

func (m *adaptiveModel) setTarget(target int) {
	m.target = max(unit, m.slots*unit/100, min(target, m.slots*unit*40/100))
}

// remember puts a key in front of its row, which has room for a number of keys.
func remember(rows [][]uint64, h uint64, room int) {
	r := &rows[rowOf(h, len(rows))]
	*r = append([]uint64{fingerprint(h)}, *r...)
	*r = (*r)[:min(len(*r), room)]
}

// forget replaces a key in its row by a hole.
func forget(rows [][]uint64, h uint64) (place int, ok bool) {
	r := rows[rowOf(h, len(rows))]
	place = slices.Index(r, fingerprint(h))
	if place >= 0 {
		r[place] = 0
	}
	return place, place >= 0
}

// promote reports whether entry i, which is about to be evicted, stays.
func (m *adaptiveModel) promote(i uint32, h uint64) bool {
	if !slices.Contains(m.small, i) {
		return false
	}
	place, known := forget(m.ghost, h)
	if !known || m.moved >= maxMoves {
		return false
	}
	age := (2*place+1)*len(m.ghost)/2 - len(m.small)
	if age < m.slots {
		m.lateReturns = min(m.lateReturns+1, 256)
		m.setTarget(m.target + 1)
	}
	slack := 2
	if m.weights != nil {
		slack += m.slots / 200
	}
	if len(m.mainEntries()) > 0 && m.smallLen() <= m.target/unit+slack {
		if m.weights != nil {
			age = age * m.bounded(i) / m.mean()
		}
		if m.won = m.challenge(age); !m.won {
			return false
		}
	}
	m.remove(i)
	m.forgetKept(i)
	m.push(i)
	m.moved++
	return true
}

func (m *adaptiveModel) challenge(age int) bool {
	m.dropCheckpoints()
	if age*100 >= (m.now-m.oldest)*60 {
		return false
	}
	for range maxChallenged {
		m.dropCheckpoints()
		i := m.main[0].entry
		if m.marks[i] == 0 {
			return true
		}
		m.take(i, true)
		m.remove(i)
		m.push(i)
	}
	return false
}

// dropCheckpoints removes the checkpoints at main's oldest end.
func (m *adaptiveModel) dropCheckpoints() {
	for len(m.main) > 0 && m.main[0].checkpoint {
		m.oldest = m.main[0].put
		m.main = m.main[1:]
	}
}

func (m *adaptiveModel) push(i uint32) {
	inMain := len(m.main) - len(m.mainEntries())
	if (m.pending <= 0 || len(m.mainEntries()) == 0) && inMain < checkpoints {
		m.main = append(m.main, mainItem{checkpoint: true, put: m.now})
		m.pending = m.every
	}
	m.pending--
	m.main = append(m.main, mainItem{entry: i})
}

func (m *adaptiveModel) insert(i uint32, h uint64) {
	if h%uint64(m.sampleEvery) != 0 {
		// not in the sample
	} else if _, recent := forget(m.recent[0], h); recent {
		m.lateReturns = min(m.lateReturns+1, 256)
		m.setTarget(m.target + unit*m.sampleEvery)
	} else if _, recent := forget(m.recent[1], h); recent {
		m.again += m.sampleEvery
		m.setTarget(m.target - unit*3/2*m.sampleEvery)
	}
	m.marks[i] = 0
	m.small = append(m.small, i)
}

// gone removes an entry that leaves the order.
func (m *adaptiveModel) gone(i uint32) {
	m.remove(i)
	m.moved, m.won = 0, false
}

func (m *adaptiveModel) remove(i uint32) {
	m.small = slices.DeleteFunc(slices.Clone(m.small), func(j uint32) bool { return j == i })
	m.main = slices.DeleteFunc(slices.Clone(m.main), func(j mainItem) bool { return j == mainItem{entry: i} })
}

func (m *adaptiveModel) evict(i uint32, h uint64) {
	q := 1
	if slices.Contains(m.small, i) {
		q = 0
		remember(m.ghost, h, 16)
		m.now++
	} else {
		if i%8 == 0 {
			m.count(i)
		}
		m.meet()
	}
	if h%uint64(m.sampleEvery) == 0 {
		remember(m.recent[q], h, 4)
	}
	m.gone(i)
}

func (m *adaptiveModel) victim() uint32 {
	fromSmall := !m.won && m.smallLen() > m.target/unit
	for ; m.moved < maxMoves; m.moved++ {
		i, inSmall := m.head(fromSmall)
		if m.marks[i] == 0 {
			return i
		}
		m.take(i, !inSmall)
		m.remove(i)
		if fromSmall = inSmall; inSmall {
			m.marks[i] = 0
			m.forgetKept(i)
			m.lateReturns = max(m.lateReturns-8, 0)
			fromSmall = m.smallLen() >= m.target/unit
		} else {
			if m.lateReturns > 128 && !m.won {
				m.setTarget(m.target - 16)
			}
		}
		m.push(i)
	}
	i, _ := m.head(fromSmall)
	return i
}

// head returns the oldest entry of a queue or, if that is empty, of the other one.
func (m *adaptiveModel) head(fromSmall bool) (i uint32, inSmall bool) {
	if fromSmall && len(m.small) > 0 {
		return m.small[0], true
	}
	if m.dropCheckpoints(); len(m.main) == 0 {
		return m.small[0], true
	}
	return m.main[0].entry, false
}

func (m *adaptiveModel) rename(from, to uint32) {
	if k := slices.Index(m.small, from); k >= 0 {
		m.small[k] = to
	}
	if k := slices.Index(m.main, mainItem{entry: from}); k >= 0 {
		m.main[k].entry = to
	}
	m.marks[to] = m.marks[from]
	if m.weights != nil {
		m.weights[to] = m.weights[from]
	}
}

// check compares the code with the model.
func (m *adaptiveModel) check(a *Adaptive) error {
	if got, want := slices.Collect(a.All()), m.entries(); !slices.Equal(got, want) || a.Len() != len(want) {
		return fmt.Errorf("the order is %v, %d entries; want %v", got, a.Len(), want)
	}
	if a.len != [queues]int{len(m.small), len(m.mainEntries())} {
		return fmt.Errorf("the queues have %v entries; want %d and %d", a.len, len(m.small), len(m.mainEntries()))
	}
	for _, i := range m.entries() {
		word, shift := a.marks.at(i)
		if got := int(*word >> shift & maxMark); got != m.marks[i] {
			return fmt.Errorf("entry %d has mark %d, want %d", i, got, m.marks[i])
		}
		if got := a.queueOf(i+firstEntry) == main; got == slices.Contains(m.small, i) {
			return fmt.Errorf("entry %d: in main is %v", i, got)
		}
	}
	if a.links != nil {
		if err := m.checkLinks(a); err != nil {
			return err
		}
	}
	if want := [queues]uint64{uint64(m.sum(m.small)), uint64(m.sum(m.mainEntries()))}; m.weights != nil && a.weight != want {
		return fmt.Errorf("the queues weigh %d, want %d", a.weight, want)
	}
	if f := &a.fading; f.all != m.all || f.met != m.met || f.idle != m.idle || f.used != m.used || f.again != m.again {
		return fmt.Errorf("fading is %+v, want %v, met %d, idle %d, used %d, again %d", f, m.all, m.met, m.idle, m.used, m.again)
	}
	if a.target != m.target || a.lateReturns != m.lateReturns || int(a.checks.now) != m.now {
		return fmt.Errorf("the target is %d, late returns %d, the time %d; want %d, %d and %d", a.target, a.lateReturns, a.checks.now, m.target, m.lateReturns, m.now)
	}
	return nil
}

// checkLinks verifies that the links of both queues are right backwards too, and compares
// main's checkpoints.
func (m *adaptiveModel) checkLinks(a *Adaptive) error {
	inMain := uint64(0)
	for q := range queues {
		last := q
		for p := a.links[q].next; ; p = a.links[p].next {
			if got, want := a.links[p].prev, last|q<<ringBit; got != want {
				return fmt.Errorf("before position %d there is %x, want %x", p, got, want)
			}
			if last = p; p == q {
				break
			}
		}
	}
	k := 0
	for p := a.links[main].next; p != main; p = a.links[p].next {
		item := m.main[k]
		k++
		if item.checkpoint != (p < firstEntry) {
			return fmt.Errorf("item %d of main: checkpoint is %v", k, p < firstEntry)
		}
		if item.checkpoint {
			inMain |= 1 << (p - firstCheckpoint)
			if put := int(a.checks.put[p-firstCheckpoint]); put != item.put {
				return fmt.Errorf("a checkpoint of %d, want %d", put, item.put)
			}
		}
	}
	if k != len(m.main) || a.checks.free != ^inMain {
		return fmt.Errorf("main has %d of %d items, checkpoints %b, and %b are free", k, len(m.main), inMain, a.checks.free)
	}
	return nil
}
