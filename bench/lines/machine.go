package main

import (
	"container/heap"
	"fmt"
	"iter"
	"math/rand/v2"
)

// A machine simulates processors with their caches. Each runs Go code as a coroutine, which
// calls read, write and atomic of its processor. The processor with the earliest time always
// runs next, so accesses happen in the order of time: the result depends on the seed only.
type machine struct {
	costs
	lines    []state
	names    []named
	procs    []*proc
	queue    queue            // processors neither blocked nor running
	blocked  int              // number of blocked processors
	waiters  map[line][]*proc // processors that wait for a write
	trace    func(p *proc, l line, write bool)
	perGroup int
}

// A proc is a processor with one goroutine.
type proc struct {
	m      *machine
	id     int
	group  int     // processors of a group are near each other
	now    float64 // nanoseconds
	stored float64 // when all its writes have reached its cache
	hint   uint64  // see package affinity
	cache  []line  // the lines in its cache, by a hash; -1 is none
	random *rand.Rand
	next   func() (struct{}, bool)
	yield  func(struct{}) bool

	background func()  // a goroutine that waits for this processor
	sliceEnd   float64 // when the scheduler lets it run at the latest
}

// newMachine returns a machine of n processors, in groups of the given size.
func newMachine(n, perGroup int, c costs, seed uint64) *machine {
	m := &machine{costs: c, perGroup: perGroup, waiters: make(map[line][]*proc)}
	random := rand.New(rand.NewPCG(seed, 0))
	for id := range n {
		p := &proc{m: m, id: id, group: id / perGroup, hint: random.Uint64(), cache: make([]line, cacheLines)}
		p.random = rand.New(rand.NewPCG(seed, uint64(id)+1))
		p.now = random.Float64() * 100 // no two begin at once
		p.sliceEnd = random.Float64() * slice
		for i := range p.cache {
			p.cache[i] = -1
		}
		m.procs = append(m.procs, p)
	}
	return m
}

func (m *machine) groups() int { return (len(m.procs) + m.perGroup - 1) / m.perGroup }

// run lets every processor run a function to its end.
func (m *machine) run(f func(p *proc)) {
	for _, p := range m.procs {
		next, stop := iter.Pull(func(yield func(struct{}) bool) {
			p.yield = yield
			f(p)
		})
		defer stop()
		p.next = next
		heap.Push(&m.queue, p)
	}
	for len(m.queue) > 0 {
		p := heap.Pop(&m.queue).(*proc)
		if _, more := p.next(); !more {
			p.next = nil
		}
	}
	if m.blocked > 0 {
		panic(fmt.Sprintf("%d processors wait for ever", m.blocked))
	}
}

// turn returns when it is the processor's turn.
func (p *proc) turn() {
	if q := p.m.queue; len(q) > 0 && q.before(q[0], p) {
		heap.Push(&p.m.queue, p)
		p.yield(struct{}{})
	}
}

// work computes for a while, on lines that are not shared.
func (p *proc) work(ns float64) { p.now += ns }

func (p *proc) read(l line) {
	p.turn()
	p.m.access(p, l, false)
}

// own reads a line that p will write. The processor sees the store coming and gets the line
// exclusively at once.
func (p *proc) own(l line) {
	p.turn()
	p.m.access(p, l, true)
	p.m.written(l, p.now)
}

// readAll reads lines that do not depend on each other: it waits for all of them at once.
func (p *proc) readAll(a array, n int) {
	p.turn()
	began, end := p.now, p.now
	for i := range n {
		p.now = began
		p.m.access(p, a.at(i), false)
		end = max(end, p.now)
	}
	p.now = end
}

// write does not wait for the line, as stores are buffered. The next atomic does.
func (p *proc) write(l line) {
	p.turn()
	began := p.now
	p.m.access(p, l, true)
	p.m.written(l, p.now)
	p.stored = max(p.stored, p.now)
	p.now = began + p.m.hit
}

// atomic is a read-modify-write, after all earlier writes.
func (p *proc) atomic(l line) {
	p.now = max(p.now, p.stored) + p.m.costs.atomic
	p.turn()
	p.m.access(p, l, true)
	p.m.written(l, p.now)
}

// await reads a line until a condition holds, again after each write.
func (p *proc) await(l line, so func() bool) {
	for p.read(l); !so(); p.read(l) {
		p.m.waiters[l] = append(p.m.waiters[l], p)
		p.block()
	}
}

// written resumes the processors that wait for a write of l.
func (m *machine) written(l line, at float64) {
	if waiters := m.waiters[l]; waiters != nil {
		delete(m.waiters, l)
		for _, w := range waiters {
			m.resume(w, at)
		}
	}
}

// block waits until another processor calls resume.
func (p *proc) block() {
	p.m.blocked++
	p.yield(struct{}{})
}

// resume lets a blocked processor continue at a time.
func (m *machine) resume(p *proc, at float64) {
	m.blocked--
	p.now = max(p.now, at)
	heap.Push(&m.queue, p)
}

// A queue is a heap of processors, the earliest first.
type queue []*proc

func (q queue) before(a, b *proc) bool { return a.now < b.now || a.now == b.now && a.id < b.id }

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q.before(q[i], q[j]) }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(p any)        { *q = append(*q, p.(*proc)) }

func (q *queue) Pop() any {
	last := len(*q) - 1
	p := (*q)[last]
	*q = (*q)[:last]
	return p
}
