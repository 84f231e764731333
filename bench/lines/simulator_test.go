//go:build !race

package main

import (
	"testing"
)

// two returns a machine of two processors that begin at time 0.
func two(perGroup int) *machine {
	m := newMachine(2, perGroup, epyc, 1)
	for _, p := range m.procs {
		p.now = 0
	}
	return m
}

// TestHandOver: to pass a word to and fro takes what bench/distance.go measures: 40 ns near
// and 190 far, half to fetch the line and half to take it from the other one.
func TestHandOver(t *testing.T) {
	for perGroup, want := range map[int]float64{2: 40, 1: 190} {
		m := two(perGroup)
		word := m.array("word", 1, 8).first
		turn := 0
		const turns = 100
		m.run(func(p *proc) {
			for range turns {
				p.await(word, func() bool { return turn%2 == p.id })
				p.atomic(word)
				turn++
			}
		})
		got := m.procs[1].now / (2 * turns)
		if got < want || got > want+epyc.atomic+5*epyc.hit+1 {
			t.Errorf("in groups of %d: %.1f ns, want %.0f and a little", perGroup, got, want)
		}
	}
}

// TestPingPong: two processors that write a line alternately fetch it each time.
func TestPingPong(t *testing.T) {
	m := two(2)
	word := m.array("word", 1, 8).first
	const writes = 10
	m.run(func(p *proc) {
		for range writes {
			p.own(word)
		}
	})
	// The first write finds the line in the shared cache. From then on transfers follow one
	// another: 2·writes-1 of them.
	if got, want := max(m.procs[0].now, m.procs[1].now), epyc.shared+(2*writes-1)*epyc.near; got != want {
		t.Errorf("took %.1f ns, want %.1f", got, want)
	}
}

// TestReads: only the first read of a line waits, until somebody writes it.
func TestReads(t *testing.T) {
	m := two(1)
	l := m.array("line", 1, 64).first
	var took []float64
	m.run(func(p *proc) {
		timed := func(f func(line)) {
			began := p.now
			f(l)
			took = append(took, p.now-began)
		}
		if p.id == 1 {
			p.work(1000)
			p.own(l)
			return
		}
		timed(p.read)
		timed(p.read)
		timed(p.own) // exclusive among own caches; but the other group has it
		timed(p.own)
		p.work(2000)
		timed(p.read)
		timed(p.read)
	})
	want := []float64{epyc.shared, epyc.hit, epyc.far, epyc.hit, epyc.far, epyc.hit}
	for i := range want {
		if took[i] != want[i] {
			t.Errorf("accesses took %v, want %v", took, want)
			break
		}
	}
}

// TestCapacity: a processor keeps no more lines than its cache has room for.
func TestCapacity(t *testing.T) {
	m := two(2)
	a := m.array("much", 4*cacheLines, 64)
	m.run(func(p *proc) {
		if p.id != 0 {
			return
		}
		for i := range 4 * cacheLines {
			p.own(a.at(i))
		}
	})
	kept := 0
	for i := range m.lines {
		if m.lines[i].has(m.procs[0]) {
			kept++
		} else if m.lines[i].owner != nobody {
			t.Fatalf("line %d has left the cache, and an owner", i)
		}
	}
	if kept > cacheLines || kept < cacheLines/2 {
		t.Errorf("%d lines kept, in a cache of %d", kept, cacheLines)
	}
}

// TestStores: writes overlap, and the next atomic waits for them.
func TestStores(t *testing.T) {
	m := two(2)
	a := m.array("lines", 4, 64)
	m.run(func(p *proc) {
		if p.id != 0 {
			return
		}
		for i := range 3 {
			p.write(a.at(i))
		}
		if got, want := p.now, 3*epyc.hit; got != want {
			t.Errorf("three writes took %v ns, want %v", got, want)
		}
		p.atomic(a.at(3))
		// The last of the writes began after two hits.
		if got, want := p.now, 2*epyc.hit+epyc.shared+epyc.atomic+epyc.shared; got != want {
			t.Errorf("with an atomic it took %v ns, want %v", got, want)
		}
	})
}

// TestMutexHandOver: a processor that finds a mutex locked spins four times and then sleeps;
// the unlock wakes it.
func TestMutexHandOver(t *testing.T) {
	for _, test := range []struct{ held, entered float64 }{
		// It comes at 100 and finds the mutex locked three times. Then it is free, but the
		// other processor still has the line.
		{500, 100 + epyc.atomic + epyc.near + spinTime + epyc.hit + spinTime + epyc.near + epyc.atomic + epyc.near},
		// It sleeps when the other one unlocks at held.
		{10_000, 10_000 + epyc.atomic + epyc.near + readyTime + wakeTime + epyc.atomic + epyc.near},
	} {
		m := two(2)
		mu := mutex{line: m.array("mutex", 1, 64).first}
		m.run(func(p *proc) {
			if p.id == 0 {
				mu.lock(p)
				p.now = test.held
				mu.unlock(p)
				return
			}
			p.now = 100
			mu.lock(p)
			if p.now != test.entered {
				t.Errorf("held until %v: entered at %v, want %v", test.held, p.now, test.entered)
			}
			mu.unlock(p)
		})
	}
}

// TestMutexExcludes: two are never inside, and all get in, even those that sleep so long that
// they are handed the mutex.
func TestMutexExcludes(t *testing.T) {
	m := newMachine(16, 4, epyc, 1)
	mu := mutex{line: m.array("mutex", 1, 64).first}
	inside, entered, handed := 0, 0, false
	m.run(func(p *proc) {
		for range 200 {
			mu.lock(p)
			if inside++; inside > 1 {
				t.Fatal("two are inside")
			}
			handed = handed || mu.starving
			entered++
			p.work(p.random.Float64() * 5000)
			p.turn()
			inside--
			mu.unlock(p)
		}
	})
	if entered != 16*200 || !handed {
		t.Errorf("entered %d times, want %d; handed over: %v", entered, 16*200, handed)
	}
}

// TestBiasedExcludes: no writer is inside together with a reader or another writer.
func TestBiasedExcludes(t *testing.T) {
	m := newMachine(32, 4, epyc, 1)
	lines := m.array("lock", 2, 64)
	l := newBiased(m, lines.at(0), lines.at(1))
	readers, writers, together, biased := 0, 0, 0, 0
	m.run(func(p *proc) {
		for range 1000 {
			if p.random.IntN(20) == 0 {
				l.lock(p)
				if writers++; writers > 1 || readers > 0 {
					t.Fatalf("%d writers and %d readers are inside", writers, readers)
				}
				p.work(10)
				p.turn()
				writers--
				l.unlock(p)
				continue
			}
			stripe := l.rlock(p)
			if readers++; writers > 0 {
				t.Fatal("a reader is inside beside a writer")
			}
			together = max(together, readers)
			if stripe >= 0 {
				biased++
			}
			p.work(10)
			p.turn()
			readers--
			l.runlock(p, stripe, true)
		}
	})
	if together < 2 || biased < 32*1000/2 || !l.wide {
		t.Errorf("%d readers together, %d of them biased; more stripes: %v", together, biased, l.wide)
	}
}
