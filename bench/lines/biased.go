package main

import "math/bits"

// The constants of package internal/biased.
const (
	windowWrites  = 16
	readsPerWrite = 8
	windowReads   = windowWrites * readsPerWrite

	minStripes, maxStripes = 4, 16
)

// A biased is the lock of a shard of pinwheel.
type biased struct {
	mutex          // on the line with the counters of the shard
	bias     line  // with the header of the lock: read by all
	stripes  array // a line each
	inside   []int // readers, by stripe
	counted  []int // reads, by stripe
	shift    int   // of a hint
	on, keep bool
	reads    int
	writes   int
	striped  int
}

// stripeCount returns how many stripes a lock has.
func stripeCount(procs int) int {
	return min(max(1<<bits.Len(uint(4*procs-1)), minStripes), maxStripes)
}

func newBiased(stripes int, bias, mu line, memory array) *biased {
	return &biased{
		mutex: mutex{line: mu}, bias: bias, stripes: memory,
		inside: make([]int, stripes), counted: make([]int, stripes),
		shift: 64 - bits.TrailingZeros(uint(stripes)), on: true, keep: true,
	}
}

// rlock returns the stripe that p is in, or -1 if it has the mutex.
func (l *biased) rlock(p *proc) int {
	p.read(l.bias)
	if l.on {
		i := int(p.hint >> l.shift)
		p.atomic(l.stripes.at(i))
		l.inside[i]++
		p.read(l.bias)
		if l.on {
			return i
		}
		l.leave(p, i)
	}
	l.mutex.lock(p)
	return -1
}

func (l *biased) runlock(p *proc, stripe int, hit bool) {
	if stripe >= 0 {
		if !hit {
			p.atomic(l.stripes.at(stripe))
		}
		l.counted[stripe]++
		l.leave(p, stripe)
		return
	}
	p.write(l.mutex.line)
	if l.reads++; l.reads >= windowReads {
		l.endWindow(true)
		p.atomic(l.bias)
		l.on = true
	}
	l.mutex.unlock(p)
}

func (l *biased) leave(p *proc, stripe int) {
	p.atomic(l.stripes.at(stripe))
	l.inside[stripe]--
}

func (l *biased) lock(p *proc) {
	l.mutex.lock(p)
	p.write(l.mutex.line)
	l.writes++
	p.read(l.bias)
	if l.on {
		l.withdraw(p)
	}
	if l.writes >= windowWrites {
		l.endWindow(false)
	}
}

func (l *biased) unlock(p *proc) {
	if l.keep {
		p.atomic(l.bias)
		l.on = true
	}
	l.mutex.unlock(p)
}

func (l *biased) endWindow(keep bool) { l.keep, l.reads, l.writes = keep, 0, 0 }

// withdraw revokes the bias, and waits until no reader is in a stripe.
func (l *biased) withdraw(p *proc) {
	p.atomic(l.bias)
	l.on = false
	striped := 0
	p.readAll(l.stripes, len(l.inside))
	for i := range l.inside {
		p.await(l.stripes.at(i), func() bool { return l.inside[i] == 0 })
		striped += l.counted[i]
	}
	l.reads += striped - l.striped
	l.striped = striped
	if l.reads >= windowReads {
		l.endWindow(true)
	}
}
