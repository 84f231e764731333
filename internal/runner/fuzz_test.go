package runner

import (
	"sync"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"
)

// FuzzRunner is TestAgainstModel, of any plan.
func FuzzRunner(f *testing.F) {
	f.Fuzz(func(t *testing.T, input []byte) {
		rapid.MakeFuzz(func(rt *rapid.T) { againstModel(t, rt) })(t, input)
	})
}

// FuzzPool adds callbacks to a pool, which block, fail and add others, lets goroutines call
// some, and releases them. Each is called once, by as many workers as there may be, and
// none waits while one is missing.
func FuzzPool(f *testing.F) {
	f.Add(byte(1), []byte{addOne, addOne | willBlock, addOne | willPanic, releaseOne, addGuest, addTwo | willAdd, addOne | willExit})
	f.Fuzz(poolAgainstModel)
}

// TestPoolAgainstModel is FuzzPool with random steps.
func TestPoolAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		workers, steps := rapid.Byte().Draw(rt, "workers"), rapid.SliceOfN(rapid.Byte(), 1, 60).Draw(rt, "steps")
		if poolAgainstModel(t, workers, steps); t.Failed() {
			t.Fatalf("%d workers, steps %d", workers%8+1, steps)
		}
	})
}

func poolAgainstModel(t *testing.T, workers byte, steps []byte) {
	synctest.Test(t, func(t *testing.T) {
		p := &pooled{list: newList(int(workers%8)+1, nil), calls: map[int]int{}}
		p.follow(t, steps[:min(len(steps), 100)])
	})
}

// What a step of FuzzPool does is in its lowest two bits, and what a callback does
// that it adds in those above.
const (
	addOne = iota
	addTwo // and wake once
	addGuest
	releaseOne

	willBlock = 1 << 2
	willAdd   = 1 << 3
	willPanic = 1 << 4
	willExit  = 1 << 5
)

// A pooled is a list, and what its callbacks did.
type pooled struct {
	*list
	mu      sync.Mutex
	added   int
	calls   map[int]int // by the number under which a callback was added
	gates   []chan struct{}
	callers int // that are in Run, or about to be
	busy    int // callbacks that run
	most    int // of busy over callers
	failed  uint64
}

// callback returns what does as a step says.
func (p *pooled) callback(step byte) func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := p.added
	p.added++
	return func() {
		gate := p.begin(id, step&willBlock != 0)
		if step&willAdd != 0 {
			p.add(p.callback(step &^ (willAdd | willBlock)))
		}
		<-gate
		p.end(step&(willPanic|willExit) != 0)
		if step&(willPanic|willExit) != 0 {
			panicOrExit(step&willPanic != 0)
		}
	}
}

func (p *pooled) begin(id int, blocks bool) (gate chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls[id]++
	p.busy++
	p.most = max(p.most, p.busy-p.callers)
	gate = make(chan struct{})
	if blocks {
		p.gates = append(p.gates, gate)
	} else {
		close(gate)
	}
	return gate
}

func (p *pooled) end(failed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy--
	if failed {
		p.failed++
	}
}

func (p *pooled) caller() {
	p.mu.Lock()
	p.callers++
	p.mu.Unlock()
	go func() {
		defer func() { // also after a Goexit
			p.mu.Lock()
			p.callers--
			p.mu.Unlock()
		}()
		p.list.caller()
	}()
}

// release ends the oldest callback that blocks, and reports whether there was one.
func (p *pooled) release() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.gates) == 0 {
		return false
	}
	close(p.gates[0])
	p.gates = p.gates[1:]
	return true
}

func (p *pooled) follow(t *testing.T, steps []byte) {
	for _, step := range steps {
		switch step % 4 {
		case addOne:
			p.add(p.callback(step))
		case releaseOne:
			p.release()
		case addGuest:
			p.caller()
		case addTwo:
			p.put(p.callback(step))
			p.put(p.callback(step))
			p.Wake()
		}
		synctest.Wait()
		if n := length(&p.fifo); n > 0 && p.workers.Load() < p.limit {
			t.Errorf("%d callbacks wait for %d workers of %d", n, p.workers.Load(), p.limit)
		}
		wantSame(t, "Running", p.Running(), p.busy)
	}
	drain := started(func() { _ = p.Drain(t.Context()) })
	for !settled(drain) { // who waits for workers, for what callbacks add, and for callers
		if !p.release() {
			t.Fatal("Drain waits, and no callback runs")
		}
	}
	if p.most > int(p.limit) {
		t.Errorf("%d callbacks at once without callers, want at most %d", p.most, p.limit)
	}
	for id := range p.added {
		if p.calls[id] != 1 {
			t.Errorf("callback %d of %d was called %d times", id, p.added, p.calls[id])
		}
	}
	wantSame(t, "Panics", p.Panics(), p.failed)
	p.checkIdle(t)
}
