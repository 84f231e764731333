package main

import (
	"runtime"
	"sync"
)

// A cache does operations on a key for a processor.
type cache interface {
	get(p *proc, key int)
	set(p *proc, key int)
}

// A contender is a cache that can be simulated.
type contender struct {
	name   string
	shards func(procs, limit int) int
	work
	make func(m *machine, c *content, w work) cache
}

// A work is the time that a cache computes in an operation, without its accesses, in
// nanoseconds. It is fitted to measurements with one thread, where no line moves. Nothing
// is fitted to more threads.
type work struct {
	hot   float64 // a Get of one key again and again: all branches are predicted
	get   float64 // of any other key
	set   float64 // of a present key
	evict float64 // added by a Set of a new key
}

var contenders = []contender{
	{"pinwheel", pinwheelShards, work{hot: 2.8, get: 17, set: 34, evict: 60}, newPinwheel},
	{"otter", func(int, int) int { return 1 }, work{hot: 47, get: 92, set: 215, evict: 150}, newOtter},
	{"phuslu", phusluShards, work{hot: 0, get: 16, set: 15, evict: 80}, newPhuslu},
}

// A load is what the processors do.
type load struct {
	name  string // as in the cases of the comparison
	keys  string // how they are distributed: see draw
	reads float64
	live  bool // only keys that are there
}

var loads = []load{
	{name: "hot", keys: "one", reads: 1},
	{name: "reads100", keys: "zipf", reads: 1},
	{name: "reads95", keys: "zipf", reads: 0.95},
	{name: "reads75", keys: "zipf", reads: 0.75},
	{name: "reads50", keys: "zipf", reads: 0.5},
	{name: "reads0", keys: "zipf"},
	{name: "refresh-same", keys: "uniform", live: true},
	{name: "uniform95", keys: "uniform", reads: 0.95},
}

// A run is one simulation.
type run struct {
	contender
	load
	procs, perGroup int // processors, and how many of them are near each other
	seed            uint64
}

const perProc = 2500 // operations of the warm-up, and of the measurement

// nsPerOp simulates, and returns the time divided by the operations of all processors.
func (r run) nsPerOp() float64 {
	m := newMachine(r.procs, r.perGroup, epyc, r.seed)
	order := drawn(r.keys, r.seed)
	limit := capacity
	if r.live {
		limit *= 2 // so that hashing does not evict
	}
	content := newContent(r.shards(r.procs, limit), order, r.seed)
	if r.live {
		order = content.live(order)
	}
	if r.keys == "one" {
		r.set -= r.get - r.hot
		r.get = r.hot
	}
	c := r.make(m, content, r.work)
	warm := max(r.procs*perProc, 50_000)
	done, began, ended := 0, 0.0, 0.0
	m.run(func(p *proc) {
		for at := p.random.IntN(len(order)); done < 2*warm; at++ {
			key := int(order[at%len(order)])
			if p.random.Float64() < r.reads {
				c.get(p, key)
			} else {
				c.set(p, key)
			}
			switch done++; done {
			case warm:
				began = p.now
			case 2 * warm:
				ended = p.now
			}
		}
	})
	return (ended - began) / float64(warm)
}

// simulateAll simulates runs, several at once.
func simulateAll(runs []run) (nsPerOp []float64) {
	nsPerOp = make([]float64, len(runs))
	var wg sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, r := range runs {
		free <- struct{}{}
		wg.Go(func() {
			nsPerOp[i] = r.nsPerOp()
			<-free
		})
	}
	wg.Wait()
	return nsPerOp
}

type drawing struct {
	keys string
	seed uint64
}

var drawings sync.Map

// drawn is draw, but draws only once.
func drawn(keys string, seed uint64) []uint32 {
	order, _ := drawings.LoadOrStore(drawing{keys, seed}, sync.OnceValue(func() []uint32 { return draw(keys, seed) }))
	return order.(func() []uint32)()
}
