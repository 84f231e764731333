package lru

import "iter"

const (
	small uint32 = iota // the queue of entries that are new, and its sentinel
	main                // the queue of entries that were used again, and its sentinel
	queues

	firstCheckpoint = queues
	firstEntry      = firstCheckpoint + checkpoints
)

// The parameters were found on traces of many kinds. Half or double of each changes
// the hits by half a percent at most.
const (
	unit        = 64  // the target of small is counted in parts of an entry
	firstPart   = 2   // percent of the slots that small is to have at first,
	leastPart   = 1   // at least
	mostPart    = 40  // and at most
	nearPart    = 4   // percent of the slots: the victims of each queue that are near
	ghostPart   = 300 // percent of the slots: the victims of small that are remembered
	youngPart   = 50  // percent of the age of main's oldest: what is younger challenges it
	checkedPart = 32  // one in so many of the slots lies between two checkpoints

	// tries is how many of main's oldest entries a challenge looks at.
	tries = 16

	// lookahead is for how many entries at once memory is fetched.
	lookahead = 8

	// Small is dry if so many keys more came back too late than were used while they
	// were there, of which each counts for several.
	dry        = 128
	usedPerDry = 8
)

// An Adaptive is the [Policy] that scans and loops do not get the better of. It knows
// entries by their slot numbers, and keys that were evicted by fingerprints of their
// hashes.
//
// It has two queues, as S3-FIFO has (Yang, Zhang, Qiu, Yue and Rashmi, "FIFO Queues
// are All You Need for Cache Eviction", SOSP 2023). New entries go to small, a few
// percent of all, and those that were used there go on to main. One that was not, but
// whose key was evicted from small before, goes to main too if the key came back sooner
// than main's oldest entry is old, as in LIRS (Jiang and Zhang, SIGMETRICS 2002), and
// that was not used meanwhile. Small grows when keys come back that it has just given
// up, and shrinks when those come back that main has, as in ARC (Megiddo and Modha,
// FAST 2003). A hit only raises a two-bit mark, as in [Order].
//
// A key is looked up among those evicted when its entry is to go from small, not when it
// comes. Which entries are next is known some time before, so that what is needed for
// several of them can be fetched from memory at once: see [Adaptive.Ahead].
//
// The zero Adaptive is empty and has room for no entry; Resize makes room. An
// Adaptive must not be copied after first use.
//
// Mark may be called by any number of goroutines at once. Every other method
// needs the Adaptive for itself: no Mark may run beside it.
type Adaptive struct {
	links  links // the sentinels, the checkpoints, the entries
	marks  Marks
	inMain bits
	len    [queues]int
	checks checkpointing

	slots  int    // that the fields below are made for
	target int    // of small, in parts of an entry: unit is one
	late   int    // up to 2*dry: above dry, small is dry
	moved  int    // entries, for the eviction under way
	won    bool   // a challenge, in the eviction under way: main gives up its oldest
	ghost  ghost  // victims of small
	near   recent // the latest victims of each queue

	ahead int               // entries to go from small until Ahead returns some again
	next  [lookahead]uint32 // what it returned
}

// Len returns the number of entries in the order.
func (a *Adaptive) Len() int { return a.len[small] + a.len[main] }

// Resize makes room for the slot numbers below n, keeping the order. No entry at or
// above n may be in it. What was evicted is remembered if the room changes by an
// eighth at most.
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

// fit begins anew, for n slots, with what is remembered of victims, and gives small
// the same part of them as before, if there were victims to find it by.
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

// part returns so many percent of n, on 32 bits too.
func part(n, percent int) int { return int(int64(n) * int64(percent) / 100) }

// aim changes the target of small, as far as its bounds allow.
func (a *Adaptive) aim(target int) {
	a.target = max(min(target, part(a.slots, mostPart*unit)), part(a.slots, leastPart*unit), unit)
}

// Marks returns the marks of the entries.
func (a *Adaptive) Marks() *Marks { return &a.marks }

// Mark notes a hit of entry i, as [Marks.Mark] does.
func (a *Adaptive) Mark(i uint32) { a.marks.Mark(i) }

// Spare reports whether entry i, which Victim has just returned and whose key has hash
// h, is to stay for all that. Then it has become the newest of main, and Victim is to
// be asked again.
func (a *Adaptive) Spare(i uint32, h uint64) bool {
	p := i + firstEntry
	if a.queueOf(p) == main {
		return false
	}
	age, known := a.ghost.take(h)
	if !known || a.moved >= patience || !a.earned(age-a.len[small]) { // len: since it came
		return false
	}
	a.unlink(p)
	a.push(main, p)
	a.moved++
	return true
}

// earned reports whether a key that came back at an age has its place in main.
func (a *Adaptive) earned(age int) bool {
	if age < a.slots {
		a.cameLate(1)
	}
	if a.len[main] == 0 || a.len[small] > a.target/unit+2 {
		return true
	}
	// Main has its part. The key came back within age: did main's oldest?
	a.won = int64(age)*100 < a.mainAge()*youngPart && a.challenge()
	return a.won
}

// cameLate raises the target of small for a key that came back after it was evicted
// from there.
func (a *Adaptive) cameLate(by int) {
	a.late = min(a.late+1, 2*dry)
	a.aim(a.target + by)
}

// challenge looks for an entry without a mark among the oldest of main, which has
// some. If it returns true, the oldest is one. Those before it lost a mark and became
// the newest.
func (a *Adaptive) challenge() bool {
	for range tries {
		p := a.oldest(main)
		if !a.marks.take(p - firstEntry) {
			return true
		}
		a.unlink(p)
		a.push(main, p)
	}
	return false
}

// Insert adds entry i, which must not be in the order and whose key has hash h, as the
// newest of small and without a mark.
func (a *Adaptive) Insert(i uint32, h uint64) {
	switch q, near := a.near.take(h); {
	case near && q == small: // a few more entries in small, and it had been a hit
		a.cameLate(unit)
	case near:
		a.aim(a.target - 3*unit/2)
	}
	a.marks.clear(i)
	a.push(small, i+firstEntry)
}

// Victim returns the entry to evict, and leaves it in the order. It reports false if
// the order is empty.
//
// This is where hits take effect. A marked entry of small that Victim meets goes to
// main, without a mark. A marked entry of main loses one and becomes the newest.
//
// A loop just longer than the order makes small look a few entries too short, however
// long it grows: what small gains, main loses to the loop. So if small is dry, every
// used entry of main that would have to make room for it lowers the target.
func (a *Adaptive) Victim() (i uint32, ok bool) {
	if a.Len() == 0 {
		return 0, false
	}
	q := main
	if !a.won && a.len[small] > a.target/unit {
		q = small
	}
	for ; a.moved < patience; a.moved++ {
		p := a.oldestOrOther(&q)
		if !a.marks.take(p - firstEntry) {
			return p - firstEntry, true
		}
		a.unlink(p)
		switch {
		case q == small:
			a.marks.clear(p - firstEntry)
			a.late = max(a.late-usedPerDry, 0)
			if a.len[small] < a.target/unit {
				q = main
			}
		case a.late > dry && !a.won:
			a.aim(a.target - unit/4)
		}
		a.push(main, p)
	}
	return a.oldestOrOther(&q) - firstEntry, true
}

// Ahead returns the next entries of small that Victim looks at, until the next call,
// or none if it returned them already. Who is going to evict calls Fetch with the hash
// of each, and fetches what else it takes to evict them: waiting for memory one after
// another takes several times as long. All this changes nothing in the order.
func (a *Adaptive) Ahead() []uint32 {
	if a.ahead > 0 {
		return nil
	}
	a.ahead = lookahead
	next := a.next[:0]
	for p := a.oldest(small); p != small && len(next) < lookahead; p = a.links[p].next {
		next = append(next, p-firstEntry)
	}
	return next
}

// Fetch reads the rows that a key with hash h would be remembered in, so that Spare and
// Evict do not wait for memory. What it returns means nothing, but must be used, or else
// the compiler leaves the reading out.
func (a *Adaptive) Fetch(h uint64) uint64 {
	return a.ghost[rowOf(h, len(a.ghost))][0] + a.near[rowOf(h, len(a.near))][small]
}

// Evict takes entry i, which must be in the order and whose key has hash h, out of
// it and remembers the key.
func (a *Adaptive) Evict(i uint32, h uint64) {
	q := a.queueOf(i + firstEntry)
	a.Remove(i)
	a.near.add(q, h)
	if q == small {
		a.ghost.add(h)
		a.checks.now++
	}
}

// Remove takes entry i, which must be in the order, out of it: one that is not
// evicted, but deleted or expired. Its key is not remembered.
func (a *Adaptive) Remove(i uint32) {
	a.unlink(i + firstEntry)
	a.moved, a.won = 0, false
}

// Rename gives entry from, which must be in the order, the slot number to, which
// must not. Its place and its mark stay.
func (a *Adaptive) Rename(from, to uint32) {
	a.links.rename(from+firstEntry, to+firstEntry)
	a.marks.copy(from, to)
	a.inMain.set(to, a.inMain.get(from))
}

// Split returns an empty Adaptive with room for the slot numbers below n, in which small
// has the same part as here.
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

// Adopt adds entry i, which must not be in the order, to the queue that entry from of
// another Adaptive is in, as the newest one and with the mark of that.
func (a *Adaptive) Adopt(i uint32, other Policy, from uint32) {
	b := other.(*Adaptive)
	a.push(b.queueOf(from+firstEntry), i+firstEntry)
	a.marks.set(i, uint32(b.marks.get(from)))
}

// All returns an iterator over the order, first small, then main, each from the
// oldest entry to the newest, marks not regarded. The order must not change
// meanwhile.
func (a *Adaptive) All() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		if a.links == nil {
			return
		}
		for q := range queues {
			for p := a.links[q].next; p != q; p = a.links[p].next {
				if p >= firstEntry && !yield(p-firstEntry) {
					return
				}
			}
		}
	}
}

// First returns the first entry of All, and false if there is none.
func (a *Adaptive) First() (i uint32, ok bool) {
	if a.links == nil {
		return 0, false
	}
	return a.from(small, a.links[small].next)
}

// After returns the entry that follows entry i, which must be in the order, in All, and
// false if there is none.
func (a *Adaptive) After(i uint32) (j uint32, ok bool) {
	return a.from(a.inMain.get(i), a.links[i+firstEntry].next)
}

// from returns the entry at position p of queue q, or the first one after it, also in
// the queues that follow.
func (a *Adaptive) from(q, p uint32) (i uint32, ok bool) {
	for {
		switch {
		case p >= firstEntry:
			return p - firstEntry, true
		case p != q: // a checkpoint
			p = a.links[p].next
		case q == main:
			return 0, false
		default:
			q = main
			p = a.links[main].next
		}
	}
}

// Heat returns the marks of entry i, and at least 1 if it is in main, so that another
// order soon has it there too.
func (a *Adaptive) Heat(i uint32) uint8 {
	return max(a.marks.get(i), uint8(a.inMain.get(i)))
}

// oldest returns the position of the oldest entry of a queue, or that of its
// sentinel. It takes the checkpoints before it out.
func (a *Adaptive) oldest(q uint32) (p uint32) {
	for p = a.links[q].next; queues <= p && p < firstEntry; p = a.links[q].next {
		a.links.unlink(p)
		a.checks.passed(p - firstCheckpoint)
	}
	return p
}

// oldestOrOther is oldest where not both queues are empty. If *q is, it becomes the
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
	a.links.pushNewest(q, p)
	a.inMain.set(p-firstEntry, q)
	a.len[q]++
}

func (a *Adaptive) unlink(p uint32) {
	q := a.queueOf(p)
	a.len[q]--
	if q == small {
		a.ahead--
	}
	a.links.unlink(p)
}

// queueOf returns the queue that the entry at position p is in.
func (a *Adaptive) queueOf(p uint32) uint32 { return a.inMain.get(p - firstEntry) }
