package lru

const (
	small uint32 = iota // the queue of new entries, and its sentinel
	main                // the queue of used entries, and its sentinel
	queues

	firstCheckpoint = queues
	firstEntry      = firstCheckpoint + checkpoints
)

// The parameters were tuned on traces of many kinds. Half or double of each changes the
// hits by half a percent at most.
const (
	unit        = 64  // the target of small is counted in this fraction of an entry
	firstPart   = 2   // percent of the slots: the first target of small
	leastPart   = 1   // percent of the slots: its least target
	mostPart    = 40  // percent of the slots: its greatest target
	nearPart    = 4   // percent of the slots: the victims of each queue that are near
	ghostPart   = 300 // percent of the slots: the victims of small that are remembered
	youngPart   = 50  // percent of the age of main's oldest: a younger key challenges it
	checkedPart = 32  // the slots divided by this: the entries between two checkpoints

	// tries is how many of main's oldest entries a challenge looks at.
	tries = 16

	// Small does not grow at the cost of main while the keys that came back too late
	// exceed the uses in small, each counted latePerUse times, by lateLimit.
	lateLimit  = 128
	latePerUse = 8
)

// An Adaptive is a [Policy] that resists scans and loops. It knows entries by their slot
// numbers, and evicted keys by fingerprints of their hashes.
//
// It has the two queues of S3-FIFO (Yang, Zhang, Qiu, Yue and Rashmi, "FIFO Queues are
// All You Need for Cache Eviction", SOSP 2023). New entries go to small, a few percent of
// all, and those used there go on to main. An unused one whose key was evicted from small
// before goes to main too, if the key came back sooner than main's oldest entry is old,
// as in LIRS (Jiang and Zhang, SIGMETRICS 2002), and that entry was not used meanwhile.
// Small grows when keys come back that it has just given up, and shrinks when keys come
// back that main has just given up, as in ARC (Megiddo and Modha, FAST 2003). A hit only
// raises a two-bit mark, as in [Order].
//
// A key is looked up among the evicted ones when its entry is about to leave small, not
// when it comes. The next entries are known by then, so the memory for several of them can
// be fetched at once: see [Adaptive.Ahead].
//
// The zero Adaptive is empty and has room for no entry; Resize makes room. An
// Adaptive must not be copied after first use.
//
// Mark may be called by any number of goroutines at once. Every other method needs
// exclusive access: not even Mark may run concurrently.
type Adaptive struct {
	// What every eviction needs is in front, in a few cache lines.
	links  links // the sentinels, the checkpoints, the entries
	marks  Marks
	inMain bits
	ghost  ghost  // victims of small
	near   recent // the latest victims of each queue
	len    [queues]int
	left   [queues]int // entries that must leave the oldest end before Ahead returns more

	slots  int  // that ghost, near and the fields below are made for
	target int  // the target of small: unit is one entry
	late   int  // late returns minus uses in small; 0 to 2*lateLimit
	moved  int  // entries moved on by the eviction under way
	won    bool // a key has won a challenge in it: main gives up its oldest
	checks checkpointing

	ahead lookout
}

// Len returns the number of entries in the order.
func (a *Adaptive) Len() int { return a.len[small] + a.len[main] }

// Resize makes room for the slot numbers below n and keeps the order. It must hold no
// entry at or above n. Evicted keys are forgotten if the room changes by more than an
// eighth.
func (a *Adaptive) Resize(n int) {
	links := make(links, n+int(firstEntry))
	if a.links == nil {
		links[small], links[main] = link{small, small}, link{main, main}
		a.checks.free = 1<<checkpoints - 1
	}
	copy(links, a.links)
	a.links = links
	a.marks.resize(n)
	a.inMain = a.inMain.resized(n)
	if a.slots == 0 || n < a.slots-a.slots/8 || n > a.slots+a.slots/8 {
		a.fit(n)
	}
}

// fit forgets the evicted keys and makes room for those of n slots. Small keeps its share
// of the slots, if evictions have found it.
func (a *Adaptive) fit(n int) {
	target := part(n, firstPart*unit)
	if a.slots > 0 && a.checks.now > 0 {
		target = int(int64(a.target) * int64(n) / int64(a.slots))
	}
	a.slots = n
	a.aim(target)
	a.checks.every = max(1, n/checkedPart)
	a.ghost = newGhost(part(n, ghostPart))
	a.near = newRecent(part(n, nearPart))
}

// part returns a percentage of n, without overflow on 32 bits.
func part(n, percent int) int { return int(int64(n) * int64(percent) / 100) }

// aim sets the target of small, within its bounds.
func (a *Adaptive) aim(target int) {
	a.target = max(min(target, part(a.slots, mostPart*unit)), part(a.slots, leastPart*unit), unit)
}

// Marks returns the marks of the entries.
func (a *Adaptive) Marks() *Marks { return &a.marks }

// Mark notes a hit of entry i, as [Marks.Mark] does.
func (a *Adaptive) Mark(i uint32) { a.marks.Mark(i) }

// Spare reports whether entry i, which Victim has just returned and whose key has hash
// h, stays after all. Then it is the newest of main, and Victim must be asked again.
func (a *Adaptive) Spare(i uint32, h uint64) bool {
	p := i + firstEntry
	if a.queueOf(p) == main {
		return false
	}
	age, known := a.ghost.take(h)
	if !known || a.moved >= maxMoves || !a.earned(age-a.len[small]) { // the age when it came
		return false
	}
	a.unlink(small, p)
	a.push(main, p)
	a.moved++
	return true
}

// earned reports whether a key that came back at an age goes to main.
func (a *Adaptive) earned(age int) bool {
	if age < a.slots {
		a.cameLate(1)
	}
	if a.len[main] == 0 || a.len[small] > a.target/unit+2 {
		return true
	}
	// Main has its share, so one of the two must go: the key, or main's oldest.
	a.won = int64(age)*100 < a.mainAge()*youngPart && a.challenge()
	return a.won
}

// cameLate raises the target of small for a key that came back after small evicted it.
func (a *Adaptive) cameLate(by int) {
	a.late = min(a.late+1, 2*lateLimit)
	a.aim(a.target + by)
}

// challenge looks for an entry without a mark among the oldest of main, which must not be
// empty. Marked ones lose a mark and become the newest. If it returns true, the oldest has
// no mark.
func (a *Adaptive) challenge() bool {
	for range tries {
		p := a.oldest(main)
		if !a.marks.take(p - firstEntry) {
			return true
		}
		a.unlink(main, p)
		a.push(main, p)
	}
	return false
}

// Insert adds entry i, which must not be in the order and whose key has hash h, as the
// newest of small, without a mark.
func (a *Adaptive) Insert(i uint32, h uint64) {
	switch q, near := a.near.take(h); {
	case near && q == small: // with a few more entries in small it would have been a hit
		a.cameLate(unit * a.near.each())
	case near:
		a.aim(a.target - 3*unit/2*a.near.each())
	}
	a.marks.clear(i)
	a.add(small, i+firstEntry)
}

// Victim returns the entry to evict, and leaves it in the order. It reports false if
// the order is empty.
//
// Hits take effect here. A marked entry of small that Victim meets goes to main, without
// a mark. A marked entry of main loses a mark and becomes the newest.
//
// A loop just longer than the order makes small look a few entries too short, however
// long it is: what small gains, main loses to the loop. So above lateLimit every used
// entry of main that would have to make room for small lowers the target.
func (a *Adaptive) Victim() (i uint32, ok bool) {
	if a.Len() == 0 {
		return 0, false
	}
	q := main
	if !a.won && a.len[small] > a.target/unit {
		q = small
	}
	for ; a.moved < maxMoves; a.moved++ {
		p := a.oldestOrOther(&q)
		if !a.marks.take(p - firstEntry) {
			return p - firstEntry, true
		}
		a.unlink(q, p)
		switch {
		case q == small:
			a.marks.clear(p - firstEntry)
			a.late = max(a.late-latePerUse, 0)
			if a.len[small] < a.target/unit {
				q = main
			}
		case a.late > lateLimit && !a.won:
			a.aim(a.target - unit/4)
		}
		a.push(main, p)
	}
	return a.oldestOrOther(&q) - firstEntry, true
}

// Ahead returns the entries of a queue that are to be evicted next, or none if it returned
// them already. See [Policy].
func (a *Adaptive) Ahead() []Next {
	q := small
	if a.left[small] > 0 {
		q = main
	}
	if a.left[q] > 0 || a.links == nil {
		return nil
	}
	a.left[q] = lookahead
	return a.ahead.oldest(a.links, q, firstEntry, &a.marks)
}

// Fetch reads the rows that would remember the keys of these entries, so that Spare and
// Evict do not wait for memory. The result means nothing, but must be used, as otherwise
// the compiler removes the reads.
func (a *Adaptive) Fetch(entries []Next) (read uint64) {
	for _, next := range entries {
		read += a.ghost[rowOf(next.Hash, len(a.ghost))][0]
	}
	return read
}

// Evict removes entry i, which must be in the order and whose key has hash h, and
// remembers the key.
func (a *Adaptive) Evict(i uint32, h uint64) {
	q := a.remove(i)
	a.near.add(q, h)
	if q == small {
		a.ghost.add(h)
		a.checks.now++
	}
}

// Remove removes entry i, which must be in the order, as it was deleted or has expired.
// Its key is not remembered.
func (a *Adaptive) Remove(i uint32) { a.remove(i) }

// remove is Remove, and returns the queue that the entry was in.
func (a *Adaptive) remove(i uint32) (q uint32) {
	q = a.queueOf(i + firstEntry)
	a.unlink(q, i+firstEntry)
	a.moved, a.won = 0, false
	return q
}

// Rename gives entry from, which must be in the order, the slot number to, which must
// not. The entry keeps its position and its mark.
func (a *Adaptive) Rename(from, to uint32) {
	a.links.rename(from+firstEntry, to+firstEntry)
	a.marks.copy(from, to)
	a.inMain.set(to, a.inMain.get(from))
}

// Split returns an empty Adaptive with room for the slot numbers below n, in which small
// has the same share.
func (a *Adaptive) Split(n int) Policy {
	part := new(Adaptive)
	part.Resize(n)
	if a.slots > 0 && a.checks.now > 0 {
		part.aim(int(int64(a.target) * int64(n) / int64(a.slots)))
		part.late = a.late
		part.checks.now, part.checks.oldest = a.checks.now, a.checks.now
	}
	return part
}

// Adopt adds entry i, which must not be in the order, with the mark of entry from of
// another Adaptive, as the newest of the queue that from is in there.
func (a *Adaptive) Adopt(i uint32, other Policy, from uint32) {
	b := other.(*Adaptive)
	a.push(b.queueOf(from+firstEntry), i+firstEntry)
	a.marks.set(i, uint32(b.marks.get(from)))
}

// oldest returns the position of the oldest entry of a queue, or of its sentinel. It
// removes the checkpoints before it.
func (a *Adaptive) oldest(q uint32) (p uint32) {
	for p = a.links[q].next; queues <= p && p < firstEntry; p = a.links[q].next {
		a.links.unlink(p)
		a.checks.passed(p - firstCheckpoint)
	}
	return p
}

// oldestOrOther is oldest, where one queue must not be empty. If *q is, it becomes the
// other one.
func (a *Adaptive) oldestOrOther(q *uint32) (p uint32) {
	if p = a.oldest(*q); p == *q {
		*q = queues - 1 - *q
		p = a.oldest(*q)
	}
	return p
}

// mainAge returns how old main's oldest entry is, in victims of small.
func (a *Adaptive) mainAge() int64 {
	a.oldest(main)
	return a.checks.age()
}

// push makes the entry at position p, which is in no queue, the newest of queue q.
func (a *Adaptive) push(q, p uint32) {
	if q == main {
		if k, ok := a.checks.due(a.len[main] == 0); ok {
			a.links.pushNewest(main, firstCheckpoint+k)
		}
	}
	a.add(q, p)
}

// add is push without a checkpoint.
func (a *Adaptive) add(q, p uint32) {
	a.links.pushNewest(q, p)
	a.inMain.set(p-firstEntry, q)
	a.len[q]++
}

// unlink takes the entry at position p out of queue q.
func (a *Adaptive) unlink(q, p uint32) {
	a.len[q]--
	a.left[q]--
	a.links.unlink(p)
}

// queueOf returns the queue that the entry at position p is in.
func (a *Adaptive) queueOf(p uint32) uint32 { return a.inMain.get(p - firstEntry) }
