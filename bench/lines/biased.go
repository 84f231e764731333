package main

import "math/bits"

// The constants of package internal/biased.
const (
	windowWrites  = 16
	readsPerWrite = 8
	windowReads   = windowWrites * readsPerWrite

	stripesPerProc                     = 4
	minStripes, fewStripes, maxStripes = 4, 16, 64
	crowded                            = 64
)

// A biased is the lock of a shard of pinwheel.
type biased struct {
	mutex          // on the line with the counters of the shard
	bias     line  // with the header of the lock: read by all
	stripes  array // a line each: the few, and then those added when readers meet
	few, all int   // stripes at first, and when wide
	inside   []int // readers, by stripe
	counted  []int // reads, by stripe
	met      []int // how often a reader left another one behind, by stripe
	wide     bool  // all stripes are in use
	on, away bool  // the bias; a writer is inside and will restore it
	keep     bool  // writers restore the bias
	reads    int   // of readers that took the mutex, in this window
	writes   int
	striped  int
}

// stripesFor returns the number of stripes of a lock on a machine.
func stripesFor(procs, most int) int {
	return min(max(1<<bits.Len(uint(stripesPerProc*procs-1)), minStripes), most)
}

func newBiased(m *machine, bias, mu line) *biased {
	few, more := stripesFor(len(m.procs), fewStripes), stripesFor(len(m.procs), maxStripes)
	if more == few {
		more = 0
	}
	n := few + more
	return &biased{
		mutex: mutex{line: mu}, bias: bias, stripes: m.array("stripe", n, 64), few: few, all: n,
		inside: make([]int, n), counted: make([]int, n), met: make([]int, n), on: true, keep: true,
	}
}

// stripe returns the stripe of a processor.
func (l *biased) stripe(p *proc) int {
	if l.wide {
		return l.few + int(p.hint>>32)*(l.all-l.few)>>32
	}
	return int(p.hint>>32) * l.few >> 32
}

// rlock returns the stripe that p is in, or -1 if it has the mutex.
func (l *biased) rlock(p *proc) int {
	for p.read(l.bias); l.on || l.away; p.await(l.bias, func() bool { return !l.away }) {
		if l.on {
			i := l.stripe(p)
			p.atomic(l.stripes.at(i))
			l.inside[i]++
			if p.read(l.bias); l.on {
				return i
			}
			l.leave(p, i)
		}
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
	if l.inside[stripe]--; l.inside[stripe] == 0 {
		return
	}
	p.atomic(l.stripes.at(stripe))
	if l.met[stripe]++; l.met[stripe] == crowded {
		l.widen(p)
	}
}

// widen makes the lock use all stripes, if there are processors for them.
func (l *biased) widen(p *proc) {
	l.mutex.lock(p)
	l.wide = l.all > l.few
	l.unlock(p)
}

func (l *biased) lock(p *proc) {
	l.mutex.lock(p)
	p.write(l.mutex.line)
	l.writes++
	if p.read(l.bias); l.on {
		l.withdraw(p)
	}
	if l.writes >= windowWrites {
		l.endWindow(false)
		if l.away {
			p.atomic(l.bias)
			l.away = false
		}
	}
}

func (l *biased) unlock(p *proc) {
	if l.keep {
		p.atomic(l.bias)
		l.on, l.away = true, false
	}
	l.mutex.unlock(p)
}

func (l *biased) endWindow(keep bool) { l.keep, l.reads, l.writes = keep, 0, 0 }

// withdraw revokes the bias, and waits until no reader is in a stripe.
func (l *biased) withdraw(p *proc) {
	p.atomic(l.bias)
	l.on, l.away = false, true
	striped, n := 0, l.few
	if l.wide {
		n = l.all
	}
	p.readAll(l.stripes, n)
	for i := range n {
		p.await(l.stripes.at(i), func() bool { return l.inside[i] == 0 })
		striped += l.counted[i]
	}
	l.reads += striped - l.striped
	l.striped = striped
	if l.reads >= windowReads {
		l.endWindow(true)
	}
}
