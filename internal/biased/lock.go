// Package biased provides a reader-biased lock: as long as nobody writes,
// readers on different processors do not touch a common cache line.
//
// The idea is BRAVO (Dice and Kogan, "BRAVO: Biased Locking for Reader-Writer
// Locks", 2019). While the lock is biased, a reader only registers in one of a
// few stripes, checks that the bias still stands, and is in. A writer takes the
// lock underneath, withdraws the bias and waits until the stripes are empty.
// From then on readers use the lock underneath, until there are so many of them
// to a writer that a bias pays again.
//
// A stripe's word holds the readers inside and, above them, a tally that a
// reader adds to as it leaves: a count of cache hits that costs nothing, since
// the word is written anyway.
package biased

import (
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/pinwheel-cache/pinwheel/internal/affinity"
)

const (
	tallyShift = 20
	inside     = 1<<tallyShift - 1 // the readers inside a stripe

	// Withdrawing the bias costs a writer about as much as the bias saves
	// readsPerWrite readers. Whether they come is looked at once per window of
	// unbiased reads, which is long enough that a run of luck at 5 % writes
	// does not bring the bias back.
	window        = 256
	readsPerWrite = 64

	minStripes, maxStripes = 4, 16

	// foldAt is a tally in a stripe that Tally moves out of it.
	foldAt = 1 << 40
)

// A Lock is a reader-writer lock biased towards readers. It must be given its
// stripes by Init before use and must not be copied.
type Lock struct {
	bias    atomic.Bool
	stripes []stripe // a power of two of them
	shift   uint8    // stripes are picked by the top bits of a hash: 64 - log2(len)

	tally struct {
		sync.Mutex
		folded uint64 // taken out of the stripes before it overflows there
	}

	mu     sync.RWMutex
	reads  atomic.Uint32 // reads through mu in the present window
	writes uint32        // writers so far; guarded by mu
	seen   atomic.Uint32 // what writes was when the window began
}

// A stripe fills a cache line, so that readers in two stripes never meet.
type stripe struct {
	word atomic.Uint64 // readers inside, and the tally above tallyShift
	_    [56]byte
}

// A Reader is the proof of a read lock held, to be given back to RUnlock by the
// same goroutine.
type Reader struct {
	stripe *stripe
	biased bool
}

// Init makes l an unlocked lock for as many processors as procs.
func (l *Lock) Init(procs int) {
	// Four stripes per processor, so that two goroutines seldom share one.
	n := min(max(1<<bits.Len(uint(4*procs-1)), minStripes), maxStripes)
	l.stripes = make([]stripe, n)
	l.shift = uint8(64 - bits.TrailingZeros(uint(n)))
	l.bias.Store(true)
}

// RLock locks for reading. Until RUnlock no writer is inside.
func (l *Lock) RLock() Reader {
	s := l.stripe()
	if l.bias.Load() {
		s.word.Add(1)
		// A writer clears the bias before it looks at the stripes. So either
		// it sees this reader, or this reader sees that the bias is gone.
		if l.bias.Load() {
			return Reader{s, true}
		}
		s.word.Add(^uint64(0))
	}
	l.mu.RLock()
	return Reader{s, false}
}

// RUnlock gives a read lock back and adds n to the tally.
func (l *Lock) RUnlock(r Reader, n uint64) {
	if r.biased {
		r.stripe.word.Add(n<<tallyShift - 1)
		return
	}
	if n != 0 {
		r.stripe.word.Add(n << tallyShift)
	}
	if reads := l.reads.Add(1); reads >= window && l.reads.CompareAndSwap(reads, 0) {
		// No writer is inside: writes can be read and the bias be set.
		if l.writes-l.seen.Swap(l.writes) <= window/readsPerWrite {
			l.bias.Store(true)
		}
	}
	l.mu.RUnlock()
}

// Lock locks for writing. Until Unlock nobody else is inside.
func (l *Lock) Lock() {
	l.mu.Lock()
	l.writes++
	if l.bias.Load() {
		l.withdraw()
	}
}

// Unlock gives the write lock back.
func (l *Lock) Unlock() { l.mu.Unlock() }

// Tally returns the sum of what readers added so far. A stripe has room for
// 2⁴⁴ of it; Tally must be called before that to make room again.
func (l *Lock) Tally() uint64 {
	l.tally.Lock()
	defer l.tally.Unlock()
	sum := uint64(0)
	for i := range l.stripes {
		word := &l.stripes[i].word
		n := word.Load() >> tallyShift
		if n >= foldAt {
			word.Add(-(n << tallyShift))
			l.tally.folded += n
			n = 0
		}
		sum += n
	}
	return sum + l.tally.folded
}

// withdraw ends the bias and waits for the readers that came in under it. Those
// are inside for some ten nanoseconds, unless the scheduler took their processor
// away: so it yields its own rather than spin for a time slice.
func (l *Lock) withdraw() {
	l.bias.Store(false)
	l.reads.Store(0)
	for i := range l.stripes {
		for spins := 0; l.stripes[i].word.Load()&inside != 0; spins++ {
			if spins > 30 {
				runtime.Gosched()
			}
		}
	}
}

// stripe picks a stripe: the same for one goroutine from call to call, and spread
// over the stripes for many.
func (l *Lock) stripe() *stripe {
	return &l.stripes[affinity.Hint()>>l.shift]
}
