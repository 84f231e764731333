package biased

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// A guarded is a lock with plain variables that it guards. The race detector sees any overlap;
// without it a reader beside a writer sees that a and b differ.
type guarded struct {
	Lock
	t *testing.T

	a, b    int
	counted uint64        // hits and misses, when a writer counted last
	sleeps  int           // how often a writer has slept until a stripe was empty
	drained chan struct{} // the channel of the last such sleep
}

func newGuarded(t *testing.T) *guarded {
	g := &guarded{t: t}
	g.beBiased(runtime.GOMAXPROCS(0))
	return g
}

// The ways to release a read lock.
var (
	noCount = (*Lock).RUnlock
	hit     = (*Lock).RUnlockHit
	miss    = (*Lock).RUnlockMiss
)

// read takes the lock for reading and gives it back by unlock. With yield, other
// goroutines run while this one is inside.
func (g *guarded) read(unlock func(*Lock, Reader), yield bool) {
	r := g.RLock()
	a := g.a
	if yield {
		runtime.Gosched()
	}
	if a != g.a || g.a != g.b {
		g.t.Errorf("a reader saw %d, and then %d and %d", a, g.a, g.b)
	}
	unlock(&g.Lock, r)
}

// write changes what is guarded. With yield, other goroutines run while it is half
// done.
func (g *guarded) write(yield bool) {
	g.Lock.Lock()
	defer g.Unlock()
	g.a++
	if yield {
		runtime.Gosched()
	}
	g.b++
	if g.Lock.drained != g.drained {
		g.drained = g.Lock.drained
		g.sleeps++
	}
	hits, misses := g.Counts()
	if hits+misses < g.counted {
		g.t.Errorf("%d reads are counted after %d", hits+misses, g.counted)
	}
	g.counted = hits + misses
}

// check looks at what is left when all goroutines have ended.
func (g *guarded) check(writes int, hits, misses uint64) {
	g.t.Helper()
	if g.a != writes || g.b != writes {
		g.t.Errorf("%d and %d writes, want %d", g.a, g.b, writes)
	}
	if h, m := g.counts(); h != hits || m != misses {
		g.t.Errorf("%d hits and %d misses, want %d and %d", h, m, hits, misses)
	}
	for i := range g.stripes {
		if n := g.stripes[i].word.Load() & (inside | waiting); n != 0 {
			g.t.Errorf("stripe %d is left with %d readers, and a mark: %v", i, n&inside, n&waiting != 0)
		}
	}
}

// crowd is more goroutines than can run at once.
func crowd() int { return 4*runtime.GOMAXPROCS(0) + 3 }

// inCrowd calls f in a crowd of goroutines, and returns when all have ended.
func inCrowd(f func(id int)) {
	var wg sync.WaitGroup
	for id := range crowd() {
		wg.Go(func() { f(id) })
	}
	wg.Wait()
}

// TestStressSleepingWriters preempts readers while they are inside, so writers wait longer than
// they spin, sleep, and are woken: by the last reader that leaves a stripe, or by one that found
// the bias gone.
func TestStressSleepingWriters(t *testing.T) {
	g := newGuarded(t)
	const rounds, reads = 3000, 9 // enough reads for the bias to outlast a write
	inCrowd(func(int) {
		for k := range rounds {
			for range reads {
				g.read(hit, true)
				g.read(miss, true)
			}
			g.read(noCount, true)
			g.write(k%2 == 0)
		}
	})
	n := crowd() * rounds
	g.check(n, uint64(n*reads), uint64(n*reads))
	if g.sleeps == 0 {
		t.Errorf("no writer had to sleep, in %d writes", n)
	}
}

// TestStressBiasComesAndGoes has goroutines that mostly read, and then mostly write, so that
// readers find the bias on, off, and just gone.
func TestStressBiasComesAndGoes(t *testing.T) {
	g := newGuarded(t)
	const phases, rounds = 200, 200
	inCrowd(func(id int) {
		for phase := range phases {
			for k := range rounds {
				if phase%2 == 0 && k%25 != 0 || phase%2 == 1 && k%2 == 0 {
					g.read(hit, (id+k)%16 == 0)
				} else {
					g.write(false)
				}
			}
		}
	})
	reads, writes := phases/2*(rounds-rounds/25+rounds/2), phases/2*(rounds/25+rounds/2)
	g.check(crowd()*writes, uint64(crowd()*reads), 0)
}

// TestNobodyIsStarved: writers enter and finish although readers never stop, and readers although
// writers never stop.
func TestNobodyIsStarved(t *testing.T) {
	for i := range 4 {
		g, yield, readersStop := newGuarded(t), i%2 == 0, i < 2
		const each = 1000
		read, write := func() { g.read(hit, yield) }, func() { g.write(yield) }
		endless, goesOn, ending, stops := crowd(), read, 3, write
		if readersStop {
			endless, goesOn, ending, stops = ending, stops, endless, goesOn
		}
		var stop atomic.Bool
		var done atomic.Int64
		var forever, wg sync.WaitGroup
		for range endless {
			forever.Go(func() {
				n := int64(0)
				for ; !stop.Load(); n++ {
					goesOn()
					if n%100 == 0 {
						runtime.Gosched() // or, on one processor, all go on until they are preempted
					}
				}
				done.Add(n)
			})
		}
		for range ending {
			wg.Go(func() {
				for range each {
					stops()
					runtime.Gosched() // for those above, or they might never have begun
				}
			})
		}
		wg.Wait() // for ever, if one starves
		stop.Store(true)
		forever.Wait()
		reads, writes := int(done.Load()), ending*each
		if readersStop {
			reads, writes = writes, reads
		}
		g.check(writes, uint64(reads), 0)
	}
}

// TestLateWakerAndTheNextWriter: a reader that was delayed until another one had woken its
// writer leaves the mark of the next writer alone, and does nothing if there is none.
func TestLateWakerAndTheNextWriter(t *testing.T) {
	l := newLock(1)
	asleep := func(s *stripe) {
		for s.word.Load()&waiting == 0 {
			runtime.Gosched()
		}
	}
	// The first writer sleeps because of reader a. A second reader has seen the bias
	// and enters the same stripe.
	a := l.RLock()
	first := make(chan struct{})
	go func() { l.writeOnce(); close(first) }()
	asleep(a)
	// leave of a, up to where it calls wake: here it is delayed.
	if a.word.Add(1<<hitShift-1)&(waiting|inside) != waiting {
		t.Fatal("a is not the last to leave")
	}
	// The second reader finds the bias gone, leaves, and wakes the writer.
	a.word.Add(1)
	l.RUnlock(a)
	<-first

	// Another reader comes in, and the second writer sleeps because of it.
	b := l.RLock()
	if b != a {
		t.Fatalf("another stripe, or none: %v", b)
	}
	var in atomic.Bool
	second := make(chan struct{})
	go func() { l.Lock(); in.Store(true); l.Unlock(); close(second) }()
	asleep(b)
	l.wake(a) // reader a goes on
	for range 100_000 {
		runtime.Gosched()
	}
	if in.Load() {
		t.Error("a writer is in beside a reader")
	}
	l.RUnlock(b)
	<-second
	l.wake(b) // panics if it closes what is closed
	if word := b.word.Load(); word&(waiting|inside) != 0 {
		t.Errorf("the word is %#x", word)
	}
}
