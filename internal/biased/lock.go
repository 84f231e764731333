// Package biased provides a reader-biased lock: as long as there are few writers,
// readers on different processors do not write to a common cache line.
//
// The idea is BRAVO (Dice and Kogan, "BRAVO: Biased Locking for Reader-Writer
// Locks", 2019). While the lock is biased, a reader only registers in one of a
// few stripes, checks that the bias still stands, and is in. A writer takes the
// mutex underneath, withdraws the bias and waits until the stripes are empty. A
// reader that finds the bias gone takes the mutex too.
//
// BRAVO gives the bias back after a time in proportion to what withdrawing it
// took. Here the lock counts, and keeps to one of two ways of working. If there are
// at least readsPerWrite reads to a write, the writer itself gives the bias back as
// it leaves, so that nearly all reads are biased; that costs it a look at every
// stripe, and two atomic stores. If there are fewer, the bias stays off, and
// readers and writers meet in the mutex, which is cheaper then: a read through it
// is no dearer than a biased one, but for the cache line that it shares.
//
// A stripe's word holds the readers inside and, above them, the hits so far: to
// count a hit costs nothing, since the word is written anyway.
package biased

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/pinwheel-cache/pinwheel/internal/affinity"
)

const (
	hitShift = 20
	waiting  = 1 << (hitShift - 1) // a writer sleeps until the stripe is empty
	inside   = waiting - 1         // the readers inside a stripe

	// A window ends with so many writes or so many reads, whichever come first,
	// and so says whether the bias is to outlast a write. It is long enough that
	// luck does not decide: at 5 % writes it does once in some hundred windows,
	// at 25 % never.
	windowWrites  = 16
	readsPerWrite = 8
	windowReads   = windowWrites * readsPerWrite

	minStripes, maxStripes = 4, 16

	// spins is how often a writer looks at a stripe before it sleeps. A reader is
	// inside for some ten nanoseconds, or, with a few cache misses, some hundred.
	spins = 200

	// foldAt is a count of hits in a stripe that is moved out of it.
	foldAt = 1 << 40
)

// A Lock is a lock for many readers or one writer, biased towards readers. It
// must be given its stripes by Init before use and must not be copied. A
// goroutine that has it must not lock it again, not even for reading.
type Lock struct {
	// What all biased readers read, and only a change of the bias writes.
	bias    atomic.Bool
	shift   uint8    // stripes are picked by the top bits of a hash: 64 - log2(len)
	stripes []stripe // a power of two of them

	// striped is how many of the reads in the stripes are in a window already. It
	// is guarded by mu, and here because it changes with the bias. So does drained,
	// which is closed when the stripe with the waiting mark is empty: it is made
	// before the mark is set, and read by who takes the mark off.
	striped uint64
	drained chan struct{}

	_ [64]byte // so that the mutex, which all others write, is in another cache line

	mu sync.Mutex

	// All that follows is guarded by mu. While a writer is inside, bias is false.
	reads, writes uint16 // in the present window
	keep          bool   // the bias outlasts a write
	hits, misses  uint64 // of readers that took mu, and hits folded
}

// A stripe fills a cache line, so that readers in two stripes never meet.
type stripe struct {
	word   atomic.Uint64 // readers inside, the waiting mark, and the hits from hitShift on
	misses atomic.Uint64
	_      [48]byte
}

// A Reader is the proof of a read lock held, to be given back to RUnlock: the stripe
// that it is registered in. It is nil if the mutex is held.
type Reader *stripe

// Init makes l an unlocked lock for as many processors as procs.
func (l *Lock) Init(procs int) {
	// Four stripes per processor, so that two goroutines seldom share one.
	n := min(max(1<<bits.Len(uint(4*procs-1)), minStripes), maxStripes)
	l.stripes = make([]stripe, n)
	l.shift = uint8(64 - bits.TrailingZeros(uint(n)))
	l.keep = true
	l.bias.Store(true)
}

// RLock locks for reading. Until RUnlock no writer is inside.
func (l *Lock) RLock() Reader {
	if l.bias.Load() {
		s := &l.stripes[affinity.Hint()>>(l.shift&63)]
		s.word.Add(1)
		// A writer clears the bias before it looks at the stripes. So either
		// it sees this reader, or this reader sees that the bias is gone.
		if l.bias.Load() {
			return s
		}
		l.RUnlock(s)
	}
	l.mu.Lock()
	return nil
}

// RUnlock gives a read lock back. While the bias is on, what decides on it does not
// see a read that is neither a hit nor a miss.
func (l *Lock) RUnlock(r Reader) {
	if r == nil || r.word.Add(^uint64(0))&(waiting|inside) == waiting {
		l.runlock(r, 0)
	}
}

// RUnlockHit is RUnlock after a hit. It is inlined, which makes two of the twenty
// nanoseconds of a Get.
func (l *Lock) RUnlockHit(r Reader) {
	if r == nil || r.word.Add(1<<hitShift-1)&(waiting|inside) == waiting {
		l.runlock(r, 1)
	}
}

// RUnlockMiss is RUnlock after a miss.
func (l *Lock) RUnlockMiss(r Reader) {
	if r == nil {
		l.misses++
	} else {
		r.misses.Add(1)
	}
	l.RUnlock(r)
}

// runlock is the rarer part of RUnlock: of a reader that has the mutex, or that was
// the last one in a stripe for which a writer waits.
func (l *Lock) runlock(r Reader, hits uint64) {
	if r != nil {
		l.wake(r)
		return
	}
	l.hits += hits
	if l.reads++; l.reads >= windowReads {
		l.endWindow(true)
		l.bias.Store(true) // no writer is inside
	}
	l.mu.Unlock()
}

// wake takes the mark off a stripe that is empty, and wakes the writer. Several
// readers may come here for one mark, as others come in vain and leave again; who
// takes it off wakes. One that was held up on the way may find the mark of the next
// writer instead, and then must not take it off while that one's readers are inside.
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

// Lock locks for writing. Until Unlock nobody else is inside.
func (l *Lock) Lock() {
	l.mu.Lock()
	if l.bias.Load() {
		l.withdraw()
	}
	if l.writes++; l.writes == windowWrites {
		l.endWindow(false)
	}
}

// Unlock gives the write lock back.
func (l *Lock) Unlock() {
	if l.keep {
		l.bias.Store(true)
	}
	l.mu.Unlock()
}

func (l *Lock) endWindow(keep bool) {
	l.keep = keep
	l.reads, l.writes = 0, 0
}

// withdraw ends the bias, waits for the readers that came in under it, and counts
// them.
func (l *Lock) withdraw() {
	l.bias.Store(false)
	striped := uint64(0)
	for i := range l.stripes {
		s := &l.stripes[i]
		l.drain(s)
		striped += l.hitsIn(s) + s.misses.Load()
	}
	reads := uint64(l.reads) + striped - l.striped
	l.striped = striped
	if reads >= windowReads {
		l.endWindow(true)
	} else {
		l.reads = uint16(reads)
	}
}

// drain waits until a stripe is empty. The bias is gone, so who comes in now leaves
// without having read.
func (l *Lock) drain(s *stripe) {
	for range spins {
		if s.word.Load()&inside == 0 {
			return
		}
	}
	// A reader may have lost its processor. The one who leaves last wakes us.
	l.drained = make(chan struct{})
	empty := s.word.Or(waiting)&inside == 0
	if !empty || s.word.And(^uint64(waiting))&waiting == 0 {
		<-l.drained
	}
}

// Counts returns the hits and the misses so far. The lock must be held for
// writing.
func (l *Lock) Counts() (hits, misses uint64) {
	for i := range l.stripes {
		s := &l.stripes[i]
		hits += l.hitsIn(s)
		misses += s.misses.Load()
	}
	return hits + l.hits, misses + l.misses
}

// hitsIn returns the hits in a stripe, which has room for 2⁴⁴ of them: when there are
// many it moves them out. A lock that nobody writes to or counts for some hundred
// days of hits alone would lose count.
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
