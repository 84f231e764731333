// Package biased provides a reader-biased lock: as long as there are few writers,
// readers on different processors do not write to a common cache line.
//
// The idea is BRAVO (Dice and Kogan, "BRAVO: Biased Locking for Reader-Writer
// Locks", 2019). While the lock is biased, a reader registers in one of a few
// stripes, checks that the bias is still on, and has the lock. A writer takes the
// mutex underneath, revokes the bias and waits until the stripes are empty. A reader
// that finds the bias off takes the mutex too.
//
// BRAVO restores the bias after a time proportional to the cost of revoking it. This
// lock counts reads and writes instead. If there are at least readsPerWrite reads per
// write, each writer restores the bias when it unlocks, so nearly all reads are
// biased. That costs the writer a look at every stripe and two atomic stores. If there
// are fewer reads, the bias stays off, and readers and writers take the mutex. Then the mutex
// is cheaper: apart from the shared cache line, a read through it costs no more than a
// biased read.
//
// If the writer inside will restore the bias, readers wait for the bias and not for the
// mutex. Otherwise they would go through the mutex one after another, with sixteen
// processors until after the next write.
//
// A stripe's word holds the number of readers inside and, in the bits above, the
// hits so far. Counting a hit costs nothing, since the word is written anyway.
//
// The stripes are made when the bias first comes on, so a lock with little use is small. If
// readers often meet in a stripe, and the machine has many processors, the lock gets a wider
// set of stripes.
//
// A model of the lock ran the steps of two readers and two writers in every order. It found no
// fault in the lock, and found each of 17 mistakes that were put into it. It is
// interleavings_test.go in commit 83def0f.
package biased

import (
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/pinwheel-cache/pinwheel/internal/affinity"
)

const (
	hitShift = 20
	waiting  = 1 << (hitShift - 1) // a writer sleeps until the stripe is empty
	inside   = waiting - 1         // the readers inside a stripe

	// A window ends after windowReads reads, and then writers restore the bias, or
	// after windowWrites writes, and then they do not. It is long enough for a stable
	// decision: at 5 % writes about one window in a hundred decides wrongly, at 25 % none.
	windowWrites  = 16
	readsPerWrite = 8
	windowReads   = windowWrites * readsPerWrite

	// With stripesPerProc stripes for each processor two goroutines seldom share a stripe. A
	// lock begins with at most fewStripes in all.
	stripesPerProc                     = 4
	minStripes, fewStripes, maxStripes = 4, 16, 64

	// metToWiden is how often readers meet in a stripe before the lock gets the wide stripes.
	metToWiden = 64

	// spins is how often a writer looks at a stripe before it sleeps, and a reader at the
	// bias before it takes the mutex. A reader is inside for tens of nanoseconds, or with a
	// few cache misses for hundreds, and a writer not much longer.
	spins = 200

	// foldAt is how many hits a stripe counts before they are moved out of it.
	foldAt = 1 << 40
)

// A Lock is a lock for many readers or one writer, biased towards readers. The zero
// Lock is unlocked, and not biased yet. A Lock must not be copied after first use. A
// goroutine that holds it must not lock it again, not even for reading.
type Lock struct {
	// All biased readers read these fields; only a change of the bias writes them.
	//
	// bias is off, away, or on. When on, it is by how far to shift a hash to get the number of
	// its stripe, plus inWide if the wide stripes are used.
	bias    atomic.Uint32
	on      uint32   // what bias is when it is on
	stripes []stripe // the number is a power of two; nil before the first bias
	wide    []stripe // more stripes, used instead; nil until readers have met often

	// striped is how many reads in the stripes were counted in a window already; mu guards
	// it. drained is closed when the stripe with the waiting mark is empty. It is made
	// before the mark is set, and read by the goroutine that clears the mark. Both change only
	// with the bias, so they share its cache line.
	striped uint64
	drained chan struct{}

	_ [32]byte // puts mu, which unbiased readers and writers write, into another cache line

	mu sync.Mutex

	// mu guards the fields below. While a writer is inside, bias is off or away.
	reads, writes uint16 // in the present window
	keep          bool   // writers restore the bias
	hits, misses  uint64 // of readers that took mu; and hits moved out of stripes
}

// What bias is if it is not on.
const (
	off  = 0 // readers take mu
	away = 1 // the writer inside will restore the bias
)

// inWide is a bit above those of a shift, which is less than 64.
const inWide = 64

// A stripe fills a cache line, so that readers in different stripes do not share one.
type stripe struct {
	word   atomic.Uint64 // readers inside, the waiting mark, and the hits from hitShift on
	misses atomic.Uint64
	met    atomic.Uint32 // how often a reader that left found another inside
	_      [44]byte
}

// A Reader is a held read lock, for RUnlock: the stripe of the reader, or nil if the
// reader holds the mutex.
type Reader *stripe

// RLock locks for reading. Until RUnlock no writer is inside.
func (l *Lock) RLock() Reader {
	bias := l.bias.Load()
	if bias == off {
		l.mu.Lock()
		return nil
	}
	if bias > away {
		s := l.stripe(bias)
		s.word.Add(1)
		// A writer clears the bias before it looks at the stripes. So either
		// it sees this reader, or this reader sees that the bias is off.
		if l.bias.Load() > away {
			return s
		}
		l.RUnlock(s)
	}
	return l.rlock()
}

// stripe returns the stripe of this goroutine for a bias that is on. The lock may have been widened
// since the bias was read: as writers look at all stripes, the old ones do too.
func (l *Lock) stripe(bias uint32) *stripe {
	stripes := l.stripes
	if bias&inWide != 0 {
		stripes = l.wide
	}
	return &stripes[affinity.Hint()>>(bias%inWide)]
}

// rlock is RLock for a reader that found the bias away. It takes the mutex, unless the
// writer inside restores the bias soon.
func (l *Lock) rlock() Reader {
	for range spins {
		bias := l.bias.Load()
		if bias == off {
			break
		}
		if bias > away {
			s := l.stripe(bias)
			s.word.Add(1)
			if l.bias.Load() > away {
				return s
			}
			l.RUnlock(s)
		}
	}
	l.mu.Lock()
	return nil
}

// RUnlock releases a read lock. While the bias is on, a window counts only hits and misses, and
// so not this read.
func (l *Lock) RUnlock(r Reader) {
	if r == nil || r.word.Add(^uint64(0))&(waiting|inside) != 0 {
		l.runlock(r, 0)
	}
}

// RUnlockHit is RUnlock and counts a hit. It must stay small enough to be inlined: that saves two
// of the twenty nanoseconds of a Get.
func (l *Lock) RUnlockHit(r Reader) {
	if r == nil || r.word.Add(1<<hitShift-1)&(waiting|inside) != 0 {
		l.runlock(r, 1)
	}
}

// RUnlockMiss is RUnlock and counts a miss.
func (l *Lock) RUnlockMiss(r Reader) {
	if r == nil {
		l.misses++
	} else {
		r.misses.Add(1)
	}
	l.RUnlock(r)
}

// runlock is the rare part of RUnlock: the reader holds the mutex, or it has left a stripe
// with another reader inside, or a writer waits for the stripe.
func (l *Lock) runlock(r Reader, hits uint64) {
	if r != nil {
		l.left(r)
		return
	}
	l.hits += hits
	if l.reads++; l.reads >= windowReads {
		l.keepBias()
		l.bias.Store(l.on) // no writer is inside
	}
	l.mu.Unlock()
}

// left wakes the writer that waits for a stripe, if the stripe is empty, or counts that
// readers met in it.
func (l *Lock) left(s *stripe) {
	if s.word.Load()&waiting != 0 {
		l.wake(s)
	} else if s.met.Add(1) == metToWiden {
		l.widen(stripesFor(runtime.GOMAXPROCS(0), maxStripes))
	}
}

// wake clears the waiting mark of a stripe if the stripe is empty, and wakes the writer.
// Several readers may get here for one mark, since readers that find the bias off
// enter and leave the stripe meanwhile: the one that clears the mark wakes the writer. A delayed
// reader may find the mark of the next writer instead, and must not clear it while readers
// are inside.
func (l *Lock) wake(s *stripe) {
	for {
		word := s.word.Load()
		if word&(waiting|inside) != waiting {
			return
		}
		if s.word.CompareAndSwap(word, word&^uint64(waiting)) {
			close(l.drained)
			return
		}
	}
}

// Lock locks for writing. Until Unlock no other reader or writer is inside.
func (l *Lock) Lock() {
	l.mu.Lock()
	l.enter()
}

// LockContended is Lock, and reports whether it had to wait for another writer, or for a reader
// without the bias.
func (l *Lock) LockContended() (contended bool) {
	contended = !l.mu.TryLock()
	if contended {
		l.mu.Lock()
	}
	l.enter()
	return contended
}

// enter lets a writer in, which holds mu. It is inlined.
func (l *Lock) enter() {
	if l.writes++; l.writes == windowWrites || l.bias.Load() != off {
		l.entered()
	}
}

// entered is the rare part of enter.
func (l *Lock) entered() {
	if l.bias.Load() != off {
		l.withdraw()
	}
	if l.writes == windowWrites {
		l.endWindow(false)
		if l.bias.Load() != off {
			l.bias.Store(off)
		}
	}
}

// Unlock releases the write lock.
func (l *Lock) Unlock() {
	if l.keep {
		l.bias.Store(l.on)
	}
	l.mu.Unlock()
}

// endWindow ends a window. From then on writers restore the bias if keep is set. mu must be
// held.
func (l *Lock) endWindow(keep bool) {
	l.keep = keep
	l.reads, l.writes = 0, 0
}

// keepBias ends a window with many reads.
func (l *Lock) keepBias() {
	if l.stripes == nil {
		l.makeStripes(runtime.GOMAXPROCS(0))
	}
	l.endWindow(true)
}

// makeStripes makes the first stripes for procs processors. Readers see them once they have
// seen the bias.
func (l *Lock) makeStripes(procs int) {
	n := stripesFor(procs, fewStripes)
	l.stripes = make([]stripe, n)
	l.on = shiftOf(n)
}

// stripesFor returns how many stripes procs processors need.
func stripesFor(procs, most int) int {
	return min(max(1<<bits.Len(uint(stripesPerProc*procs-1)), minStripes), most)
}

// shiftOf returns by how much a hash is shifted to pick one of so many stripes.
func shiftOf(stripes int) uint32 { return uint32(64 - bits.TrailingZeros32(uint32(stripes))) }

// widen gives the lock a number of wide stripes, if it has fewer stripes. It does so only once, as
// readers read wide without a lock.
func (l *Lock) widen(stripes int) {
	l.mu.Lock()
	if l.wide == nil && stripes > len(l.stripes) {
		l.wide, l.on = make([]stripe, stripes), inWide|shiftOf(stripes)
	}
	l.Unlock() // restores the bias from l.on if it is to be on
}

// withdraw revokes the bias, waits until the biased readers have left, and counts
// their reads. It looks at all stripes: a delayed reader may be in one that is no longer used.
func (l *Lock) withdraw() {
	l.bias.Store(away)
	striped := l.drainAll(l.stripes) + l.drainAll(l.wide)
	reads := uint64(l.reads) + striped - l.striped
	l.striped = striped
	if reads >= windowReads {
		l.keepBias()
	} else {
		l.reads = uint16(reads)
	}
}

// drainAll waits until stripes are empty, and returns how many reads they counted.
func (l *Lock) drainAll(stripes []stripe) (reads uint64) {
	for i := range stripes {
		s := &stripes[i]
		l.drain(s)
		reads += l.hitsIn(s) + s.misses.Load()
	}
	return reads
}

// drain waits until a stripe is empty. The bias is away, so a reader that enters the
// stripe now leaves it without having read.
func (l *Lock) drain(s *stripe) {
	for range spins {
		if s.word.Load()&inside == 0 {
			return
		}
	}
	// A reader may have been preempted. The last one to leave wakes the writer.
	l.drained = make(chan struct{})
	empty := s.word.Or(waiting)&inside == 0
	if !empty || s.word.And(^uint64(waiting))&waiting == 0 {
		<-l.drained
	}
}

// Counts returns the hits and the misses so far. The lock must be held for
// writing.
func (l *Lock) Counts() (hits, misses uint64) {
	for _, stripes := range [][]stripe{l.stripes, l.wide} {
		for i := range stripes {
			s := &stripes[i]
			hits += l.hitsIn(s)
			misses += s.misses.Load()
		}
	}
	return hits + l.hits, misses + l.misses
}

// Count adds hits and misses of another lock. The lock must be held for writing.
func (l *Lock) Count(hits, misses uint64) {
	l.hits += hits
	l.misses += misses
}

// hitsIn returns the hits in a stripe, and moves them out if there are many, as a stripe
// has room for 2⁴⁴. The count would overflow only after a hundred days or more of hits without
// a write or a call of Counts.
func (l *Lock) hitsIn(s *stripe) uint64 {
	n := s.word.Load() >> hitShift
	if n < foldAt {
		return n
	}
	s.word.Add(-(n << hitShift))
	l.striped -= n
	l.hits += n
	return 0
}
