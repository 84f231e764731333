package biased

import (
	"runtime"
	"sync"
	"testing"
)

// TestBiasIsAway: while a writer is inside that will restore the bias, the bias is away.
func TestBiasIsAway(t *testing.T) {
	l := newLock(2)
	l.Lock()
	if bias := l.bias.Load(); bias != away {
		t.Errorf("the bias is %d while it is gone for a write, want %d", bias, away)
	}
	l.Unlock()
	if !l.biased() {
		t.Error("the writer has not restored the bias")
	}
}

// TestReadersLookAgain: a reader that found the bias away takes a stripe when it is back, and
// the mutex when it is off.
func TestReadersLookAgain(t *testing.T) {
	l := newLock(2)
	if r := l.rlock(); r == nil {
		t.Error("a reader takes the mutex though the bias is back")
	} else {
		l.RUnlock(r)
	}
	l.turnOff()
	r := l.rlock()
	if r != nil {
		t.Error("a reader takes a stripe though the bias is off")
	}
	l.RUnlock(r)
}

// meet lets a reader leave the first stripe while another one is inside, which leaves when a
// writer comes. It does not call RLock, which may take another stripe: the stack may move.
func (l *Lock) meet() {
	s := &l.stripes[0]
	s.word.Add(2)
	gone := make(chan struct{})
	left := make(chan struct{})
	go func() {
		defer close(gone)
		for l.biased() {
			select {
			case <-left:
				l.RUnlock(s)
				return
			default:
				runtime.Gosched()
			}
		}
		l.RUnlock(s)
	}()
	l.RUnlockHit(s)
	close(left)
	<-gone
}

// TestWiden: after readers met often, a lock has more stripes, if there are processors for
// them. It still counts, and still excludes.
func TestWiden(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for procs, want := range map[int]int{2: 0, 4: 0, 8: 32, 16: 64, 64: 64} {
		runtime.GOMAXPROCS(procs)
		l := newLock(procs)
		for range metToWiden - 1 {
			l.meet()
		}
		if l.wide != nil {
			t.Errorf("%d processors: %d stripes before readers met often", procs, len(l.wide))
		}
		l.meet()
		if len(l.wide) != want || !l.biased() {
			t.Errorf("%d processors: %d more stripes, and biased is %v; want %d", procs, len(l.wide), l.biased(), want)
		}
		l.widen(maxStripes) // only if it has not yet been
		if want > 0 && len(l.wide) != want {
			t.Errorf("widened twice, to %d", len(l.wide))
		}
		r := l.RLock()
		l.RUnlockMiss(r)
		if hits, misses := l.counts(); hits != metToWiden || misses != 1 {
			t.Errorf("%d processors: %d hits and %d misses, want %d and 1", procs, hits, misses, metToWiden)
		}
	}
}

// TestWidenAfterMoreProcessors: a lock that got its stripes when there were fewer processors
// (GOMAXPROCS changes, also by itself when a container's limit does) gets a number of stripes
// with which another lock begins. Readers find theirs.
func TestWidenAfterMoreProcessors(t *testing.T) {
	for stripes := 2 * minStripes; stripes <= maxStripes; stripes *= 2 {
		l := newLock(1)
		l.widen(stripes)
		if len(l.stripes) != minStripes || len(l.wide) != stripes || !l.biased() {
			t.Fatalf("%d stripes and %d more, want %d and %d", len(l.stripes), len(l.wide), minStripes, stripes)
		}
		var wg sync.WaitGroup
		for range 8 * stripes { // some have hints beyond the first stripes
			wg.Go(func() { l.RUnlockHit(l.RLock()) })
		}
		wg.Wait()
		if hits, _ := l.counts(); hits != uint64(8*stripes) {
			t.Errorf("%d hits, want %d", hits, 8*stripes)
		}
	}
}

// TestWidenWhileItIsUsed: delayed readers that took one of the old stripes are inside too, and
// counted.
func TestWidenWhileItIsUsed(t *testing.T) {
	for range 5 {
		g := newGuarded(t)
		const rounds, reads = 100, 20
		inCrowd(func(id int) {
			for k := range rounds {
				for n := range reads {
					g.read(hit, n == 0)
				}
				g.write(false)
				if id == 0 && k == rounds/3 {
					g.widen(maxStripes)
				}
			}
		})
		g.check(crowd()*rounds, uint64(crowd()*rounds*reads), 0)
		if len(g.wide) != maxStripes {
			t.Fatalf("%d more stripes", len(g.wide))
		}
	}
}

// TestWritersWaitForLateReaders: a writer waits for a reader in a stripe that is not in use
// any more.
func TestWritersWaitForLateReaders(t *testing.T) {
	l := newLock(2)
	l.widen(maxStripes)
	late := &l.stripes[0]
	late.word.Add(1)
	writersWaitFor(t, l, late)
}
