package biased

import (
	"runtime"
	"sync/atomic"
	"testing"
)

// writeOnce is a writer that changes nothing.
func (l *Lock) writeOnce() {
	l.Lock()
	//lint:ignore SA2001 to have had the lock is all
	l.Unlock()
}

// turnOff ends the bias by a window of writes.
func (l *Lock) turnOff() {
	for range windowWrites {
		l.writeOnce()
	}
}

// biased reports whether the bias is on.
func (l *Lock) biased() bool { return l.bias.Load() > away }

// counts is Counts with the lock.
func (l *Lock) counts() (hits, misses uint64) {
	l.Lock()
	defer l.Unlock()
	return l.Counts()
}

// newLock returns a lock that is biased.
func newLock(procs int) *Lock {
	l := new(Lock)
	l.beBiased(procs)
	return l
}

func (l *Lock) beBiased(procs int) {
	l.makeStripes(procs)
	l.endWindow(true)
	l.bias.Store(l.on)
}

// TestZeroLock: a lock has no stripes until it was read often, but counts from the start.
func TestZeroLock(t *testing.T) {
	var l Lock
	for range 1000 {
		l.writeOnce()
	}
	for range windowReads - 1 {
		l.RUnlockHit(l.RLock())
	}
	if l.stripes != nil || l.biased() {
		t.Fatalf("%d stripes, and biased is %v", len(l.stripes), l.biased())
	}
	l.RUnlockMiss(l.RLock())
	if r := l.RLock(); r == nil {
		t.Error("not biased after many reads")
	} else {
		l.RUnlock(r)
	}
	l.Lock()
	l.Count(1000, 1)
	l.Unlock()
	if hits, misses := l.counts(); hits != 1000+windowReads-1 || misses != 2 {
		t.Errorf("%d hits and %d misses", hits, misses)
	}
}

// TestLockContended: a writer is told whether another was inside.
func TestLockContended(t *testing.T) {
	var l Lock
	if l.LockContended() {
		t.Error("contended, with nobody inside")
	}
	l.Unlock()
	contended := make(chan bool)
	for try := 0; ; try++ {
		l.Lock()
		go func() {
			contended <- l.LockContended()
			l.Unlock()
		}()
		for range try {
			runtime.Gosched()
		}
		l.Unlock()
		if <-contended {
			return
		}
	}
}

// TestCountsFold: hits are counted even if they are too many for a stripe.
func TestCountsFold(t *testing.T) {
	l := newLock(2)
	want := uint64(0)
	for range 40 { // more than 2⁴⁴ in all
		l.stripes[0].word.Add(foldAt << hitShift)
		want += foldAt
		if got, _ := l.counts(); got != want {
			t.Fatalf("%d hits, want %d", got, want)
		}
	}
	l.writeOnce() // hangs if the fold lost count of the readers
	l.RUnlockHit(l.RLock())
	if got, _ := l.counts(); got != want+1 {
		t.Errorf("%d hits, want %d", got, want+1)
	}
}

// TestWriterWaitsForReaders: a writer enters after the last reader has left, by stripe or mutex,
// and later readers wait for the writer.
func TestWriterWaitsForReaders(t *testing.T) {
	for _, biased := range []bool{true, false} {
		l := newLock(2)
		if !biased {
			l.turnOff()
		}
		r := l.RLock()
		if (r != nil) != biased {
			t.Fatalf("biased is %v, want %v", !biased, biased)
		}
		writersWaitFor(t, l, r)
	}
}

// writersWaitFor checks that a writer is inside after reader r has left, and not before.
func writersWaitFor(t *testing.T, l *Lock, r Reader) {
	t.Helper()
	var in atomic.Bool
	done := make(chan struct{})
	go func() {
		l.Lock()
		in.Store(true)
		l.Unlock()
		close(done)
	}()
	for range 1000 {
		runtime.Gosched()
	}
	if in.Load() {
		t.Error("a writer is in beside a reader")
	}
	l.RUnlock(r)
	<-done
}

// TestBiasLearns: the bias stays with one write in twenty, and goes with one in four. It goes
// with the first window of writes and comes back with the first of reads.
func TestBiasLearns(t *testing.T) {
	l := newLock(2)
	read := func(n int) {
		for range n {
			l.RUnlockHit(l.RLock())
		}
	}
	mix := func(reads int) (biased int) {
		for range 1000 {
			read(reads)
			if l.biased() {
				biased++
			}
			l.writeOnce()
		}
		return biased
	}
	if got := mix(19); got < 990 {
		t.Errorf("biased before %d of 1000 writes, each after 19 reads", got)
	}
	if got := mix(3); got > 2*windowWrites {
		t.Errorf("biased before %d of 1000 writes, each after 3 reads", got)
	}
	read(windowReads)
	if !l.biased() {
		t.Error("not biased after a window of reads")
	}
	l.turnOff()
	if l.biased() {
		t.Error("biased after a window of writes")
	}
}

func TestDoesNotAllocate(t *testing.T) {
	l := newLock(2)
	if n := testing.AllocsPerRun(1000, func() {
		l.RUnlockHit(l.RLock())
		l.writeOnce()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
