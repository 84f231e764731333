package eviction

const (
	small uint32 = iota // the queue of new entries, and its sentinel
	main                // the queue of used entries, and its sentinel
	queues

	firstCheckpoint = queues
	firstEntry      = firstCheckpoint + checkpoints
)

// The parameters were tuned on traces of many kinds. Half or double of each changes the
// number of hits by at most half a percent. Percentages are of the slots.
const (
	unit = 64 // targets are in 1/unit of an entry

	startPercent = 2  // the target of small at the start
	minPercent   = 1  // its lower bound
	maxPercent   = 40 // its upper bound

	recentPercent = 4   // how many victims of each queue count as recent
	ghostPercent  = 300 // how many victims of small are remembered

	youngPercent    = 60 // of the age of main's oldest entry: a key that came back sooner challenges it
	maxChallenged   = 16 // how many of main's oldest entries a challenge looks at
	mainCheckpoints = 32 // how many checkpoints a main queue with all slots has

	// While lateReturns is above lateReturnsLimit, uses in main shrink small: see Victim. A key that
	// comes back after small has evicted it adds 1, and a use in small takes latePerUse away.
	lateReturnsLimit = 128
	latePerUse       = 8
)

// An Adaptive is a [Policy] that resists scans and loops. It knows entries by their slot
// numbers, and evicted keys by fingerprints of their hashes.
//
// It has the two queues of S3-FIFO (Yang, Zhang, Qiu, Yue and Rashmi, "FIFO Queues are
// All You Need for Cache Eviction", SOSP 2023). New entries go to small, which has a few
// percent of the slots. Entries used there go on to main. A hit only raises a two-bit
// mark, as in [Order].
//
// An unused entry goes to main too if small has evicted its key before, the key came back
// soon, and main's oldest entry was not used meanwhile. Soon means after a time shorter than the
// age of that entry, as in LIRS (Jiang and Zhang, SIGMETRICS 2002). The ghost remembers the
// evicted keys. It is asked when the entry is about to leave small, not when it is inserted. By
// then the next entries are known, so the memory for several of them can be fetched at once: see
// [Adaptive.Ahead].
//
// Small grows when one of its latest victims comes back, and shrinks when one of main's latest
// victims does, as in ARC (Megiddo and Modha, FAST 2003).
//
// When eviction passes an entry of main, the entry loses one mark or all: see [fading].
//
// The zero Adaptive is empty and has room for no entry; Resize makes room. An
// Adaptive must not be copied after first use.
//
// Mark may be called by any number of goroutines at once. Every other method needs
// exclusive access: not even Mark may run concurrently.
type Adaptive struct {
	// Every eviction needs these fields, so they are first, in three cache lines.
	links   links // the sentinels, the checkpoints, the entries
	marks   Marks
	ghost   ghost  // victims of small
	recent  recent // the latest victims of each queue
	len     [queues]int
	left    [queues]int // entries that must leave a queue before Ahead returns more of it
	weights []uint32    // the owner's, by entry; nil if all weigh 1
	target  int         // the length that small should have, in 1/unit
	moved   int32       // entries moved on by the eviction under way
	won     bool        // a key has won a challenge in this eviction: main's oldest is the victim
	checks  checkpointing
	fading  fading

	slots       int            // for which ghost, recent, target and checks are made
	lateReturns int            // see lateReturnsLimit; 0 to 2*lateReturnsLimit
	weight      [queues]uint64 // of the entries of each queue, if they have weights
	passed      uint64         // weight of the entries that takeMark has passed over since it last lowered a mark
	ahead       lookout
}

// Len returns the number of entries in the order.
func (a *Adaptive) Len() int { return a.len[small] + a.len[main] }

// Resize makes room for the slot numbers below n and keeps the order, which must hold no
// entry at or above n. If the room changes by more than an eighth, the Adaptive forgets the keys
// that were evicted.
func (a *Adaptive) Resize(n int) {
	links := make(links, n+int(firstEntry))
	if a.links == nil {
		links[small], links[main] = link{small, small}, link{main, main | main<<ringBit}
		a.checks.free = 1<<checkpoints - 1
	}
	copy(links, a.links)
	a.links = links
	a.marks.resize(n)
	a.fading.resize(n)
	if a.slots == 0 || n < a.slots-a.slots/8 || n > a.slots+a.slots/8 {
		a.fit(n)
	}
}

// fit forgets the evicted keys and makes room for those of n slots. Small keeps its share
// of the slots, unless small has evicted nothing yet.
func (a *Adaptive) fit(n int) {
	target := share(n, startPercent*unit)
	if a.slots > 0 && a.checks.now > 0 {
		target = int(int64(a.target) * int64(n) / int64(a.slots))
	}
	a.slots = n
	a.setTarget(target)
	a.checks.every = max(1, n/mainCheckpoints)
	a.ghost = newGhost(share(n, ghostPercent))
	a.recent = newRecent(share(n, recentPercent))
}

// share returns a percentage of n. It does not overflow on 32 bits.
func share(n, percent int) int { return int(int64(n) * int64(percent) / 100) }

// setTarget sets the target of small, within its bounds.
func (a *Adaptive) setTarget(target int) {
	a.target = max(min(target, share(a.slots, maxPercent*unit)), share(a.slots, minPercent*unit), unit)
}

// targetLen returns the length that small should have.
func (a *Adaptive) targetLen() int { return int(uint(a.target) / unit) } // fewer instructions than signed

// Marks returns the marks of the entries.
func (a *Adaptive) Marks() *Marks { return &a.marks }

// Mark notes a hit of entry i, as [Marks.Mark] does.
func (a *Adaptive) Mark(i uint32) { a.marks.Mark(i) }

// Promote reports whether entry i stays after all. i must be what Victim returned last, and h the
// hash of its key. If the entry stays, it is now the newest of main, and Victim must be called
// again. Otherwise the Adaptive remembers its key.
func (a *Adaptive) Promote(i uint32, h uint64) bool {
	q := a.queueOf(i + firstEntry)
	if q == small {
		if !a.ghost.addNew(h) && a.promoteKnown(i, h) {
			return true
		}
		a.checks.now++
	} else {
		a.evictsMain(i)
	}
	if a.recent.samples(h) {
		a.recent.add(q, h)
	}
	return false
}

// promoteKnown is Promote for an entry of small whose key the ghost remembers.
func (a *Adaptive) promoteKnown(i uint32, h uint64) bool {
	age := a.ghost.take(h) - a.len[small] // at which the key came back
	if a.moved >= maxMoves || !a.admits(i, age) {
		a.ghost.addNew(h)
		return false
	}
	a.unlink(small, i+firstEntry)
	a.fading.forget(i)
	a.push(main, i+firstEntry)
	a.moved++
	return true
}

// admits reports whether main admits the key of entry i. age is how long ago small had
// evicted the key when it came back.
func (a *Adaptive) admits(i uint32, age int) bool {
	if age < a.slots {
		a.growSmall(1)
	}
	if a.len[main] == 0 || a.smallLen() > a.targetLen()+a.slack() {
		return true
	}
	// Main has its share, so either this key or main's oldest is evicted.
	a.won = a.youth(i, age)*100 < a.mainAge()*youngPercent && a.challenge()
	return a.won
}

// growSmall raises the target of small for a key that came back after small evicted it.
func (a *Adaptive) growSmall(by int) {
	a.lateReturns = min(a.lateReturns+1, 2*lateReturnsLimit)
	a.setTarget(a.target + by)
}

// challenge reports whether main, which must not be empty, has an entry without a mark
// among its oldest. It makes that entry the oldest: the marked ones before it fade and
// become the newest.
func (a *Adaptive) challenge() bool {
	for range maxChallenged {
		p := a.oldest(main)
		if !a.takeMark(main, p-firstEntry) {
			return true
		}
		a.unlink(main, p)
		a.push(main, p)
	}
	return false
}

// Insert adds entry i, whose key has hash h, as the newest of small, without a mark. Entry i
// must not be in the order.
func (a *Adaptive) Insert(i uint32, h uint64) {
	if a.recent.samples(h) {
		a.balance(h)
	}
	a.marks.clear(i)
	a.add(small, i+firstEntry)
}

// balance moves the target of small if one of the queues has recently evicted the key with hash h,
// which is in the sample: that queue would have had a hit if it were slightly longer.
func (a *Adaptive) balance(h uint64) {
	switch q, recent := a.recent.take(h); {
	case recent && q == small:
		a.growSmall(unit * a.recent.each())
	case recent:
		a.fading.again += a.recent.each()
		a.setTarget(a.target - 3*unit/2*a.recent.each())
	}
}

// Victim returns the entry to evict, or false if the order is empty. The entry stays in the order.
//
// Hits take effect here. A marked entry of small that Victim meets goes to main, without
// a mark. A marked entry of main fades and becomes the newest.
//
// In a loop over slightly more keys than there are slots, small always seems to be a few entries
// too short, but each entry that it gains is one that main loses. So while lateReturns is above
// lateReturnsLimit, every used entry of main that Victim meets lowers the target.
func (a *Adaptive) Victim() (i uint32, ok bool) {
	if a.Len() == 0 {
		return 0, false
	}
	q := main
	if !a.won && a.smallLen() > a.targetLen() {
		q = small
	}
	if p := a.links[q].next; p >= firstEntry && !a.marks.has(p-firstEntry) {
		return p - firstEntry, true // nearly always
	}
	return a.passMarked(q), true
}

// passMarked is Victim, beginning with queue q.
func (a *Adaptive) passMarked(q uint32) (i uint32) {
	for ; a.moved < maxMoves; a.moved++ {
		p := a.oldestOrOther(&q)
		if !a.takeMark(q, p-firstEntry) {
			return p - firstEntry
		}
		a.unlink(q, p)
		switch {
		case q == small:
			a.marks.clear(p - firstEntry)
			a.fading.forget(p - firstEntry)
			a.lateReturns = max(a.lateReturns-latePerUse, 0)
			if a.smallLen() < a.targetLen() {
				q = main
			}
		case a.lateReturns > lateReturnsLimit && !a.won:
			a.setTarget(a.target - unit/4)
		}
		a.push(main, p)
	}
	return a.oldestOrOther(&q) - firstEntry
}

// Ahead returns the entries that a queue evicts next, or none if it has returned them
// already. See [Policy].
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

// Prefetch reads the rows of the ghost that belong to these entries, so that Promote does
// not wait for memory. The result means nothing, but must be used: otherwise the
// compiler removes the reads.
func (a *Adaptive) Prefetch(entries []Next) (read uint64) {
	for _, next := range entries {
		read += a.ghost[rowOf(next.Hash, len(a.ghost))][0]
	}
	return read
}

// Remove removes entry i, which must be in the order.
func (a *Adaptive) Remove(i uint32) {
	a.unlink(a.queueOf(i+firstEntry), i+firstEntry)
	a.moved, a.won = 0, false
}

// Replace removes entry i, which must be in the order, and inserts another one in its slot.
func (a *Adaptive) Replace(i uint32, h uint64) {
	p := i + firstEntry
	a.unlink(a.queueOf(p), p)
	a.moved, a.won = 0, false
	if a.recent.samples(h) {
		a.balance(h)
	}
	a.marks.clear(i)
	a.links.pushNewest(small, p)
	a.len[small]++
}

// Rename moves an entry from slot from, which must be in the order, to slot to, which must not. The
// entry keeps its position and its mark.
func (a *Adaptive) Rename(from, to uint32) {
	a.links.rename(from+firstEntry, to+firstEntry)
	a.marks.copy(from, to)
}

// Split returns an empty Adaptive with room for the slot numbers below n. Its queue small has the
// same share of the slots.
func (a *Adaptive) Split(n int) Policy {
	part := new(Adaptive)
	part.Resize(n)
	if a.slots > 0 && a.checks.now > 0 {
		part.setTarget(int(int64(a.target) * int64(n) / int64(a.slots)))
		part.lateReturns = a.lateReturns
		part.checks.now, part.checks.oldest = a.checks.now, a.checks.now
	}
	return part
}

// Adopt adds entry i, which must not be in the order, as a copy of entry from in another
// Adaptive: with its mark, as the newest of the same queue.
func (a *Adaptive) Adopt(i uint32, other Policy, from uint32) {
	b := other.(*Adaptive)
	a.push(b.queueOf(from+firstEntry), i+firstEntry)
	a.marks.set(i, uint32(b.marks.get(from)))
}

// oldest returns the position of the oldest entry of a queue, or of its sentinel if the
// queue is empty. It removes the checkpoints before that.
func (a *Adaptive) oldest(q uint32) (p uint32) {
	for p = a.links[q].next; queues <= p && p < firstEntry; p = a.links[q].next {
		a.links.unlink(p)
		a.checks.passed(p - firstCheckpoint)
	}
	return p
}

// oldestOrOther is oldest of queue *q. If that is empty, it changes *q to the other queue, which
// must not be empty.
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

// push makes the entry at position p, which is in no queue, the newest of queue q. If a checkpoint
// is due, push puts it before the entry.
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
	a.len[q]++
	a.count(q, p-firstEntry, 1)
}

// unlink removes the entry at position p from queue q.
func (a *Adaptive) unlink(q, p uint32) {
	a.len[q]--
	a.count(q, p-firstEntry, -1)
	a.left[q]--
	a.links.unlink(p)
}

// queueOf returns the queue that the entry at position p is in.
func (a *Adaptive) queueOf(p uint32) uint32 { return a.links[p].ring() }
