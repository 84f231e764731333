package main

import "slices"

// Times of the scheduler and sync.Mutex of Go 1.26, in nanoseconds.
const (
	spinTime  = 350   // thirty PAUSE, between two looks at a mutex
	spins     = 4     // looks before a goroutine parks
	parkTime  = 250   // to park a goroutine
	readyTime = 150   // to make a goroutine ready that has parked
	wakeTime  = 5_000 // until it runs then, on an idle processor
	starving  = 1e6   // a goroutine that waited for longer is handed the mutex
	goTime    = 300   // to start a goroutine
	yieldTime = 150   // runtime.Gosched with nothing else to run
	slice     = 10e6  // a goroutine runs for so long if another waits for its processor
)

// A mutex is sync.Mutex: newcomers may overtake sleepers.
type mutex struct {
	line     line
	locked   bool
	woken    bool // a waiter is awake, or one that spins: unlock wakes no other
	starving bool // unlock hands the mutex to the first waiter
	asleep   []*proc
}

func (mu *mutex) tryLock(p *proc) bool {
	p.read(mu.line)
	if mu.locked || mu.starving {
		return false
	}
	p.atomic(mu.line)
	if mu.locked || mu.starving {
		return false
	}
	mu.locked = true
	return true
}

func (mu *mutex) lock(p *proc) {
	p.atomic(mu.line)
	if !mu.locked && !mu.starving && len(mu.asleep) == 0 {
		mu.locked = true
		return
	}
	mu.lockSlow(p)
}

func (mu *mutex) lockSlow(p *proc) {
	awoke, starved, parked := false, false, false
	var since float64 // it parked first
	for n := 0; ; {
		if mu.locked && !mu.starving && n < spins {
			if !awoke && !mu.woken && len(mu.asleep) > 0 {
				p.atomic(mu.line)
				if !mu.woken {
					mu.woken, awoke = true, true
				}
			}
			n++
			p.work(spinTime)
			p.read(mu.line)
			continue
		}
		p.atomic(mu.line)
		if awoke {
			mu.woken = false
		}
		if !mu.locked && !mu.starving {
			mu.locked = true
			return
		}
		if starved && mu.locked {
			mu.starving = true
		}
		if parked { // again: ahead of all others
			mu.asleep = slices.Insert(mu.asleep, 0, p)
		} else {
			parked, since = true, p.now
			mu.asleep = append(mu.asleep, p)
		}
		p.work(parkTime)
		p.block()
		starved = starved || p.now-since > starving
		if mu.starving { // the mutex was handed to p
			p.atomic(mu.line)
			mu.locked = true
			if !starved || len(mu.asleep) == 0 {
				mu.starving = false
			}
			return
		}
		awoke, n = true, 0
	}
}

func (mu *mutex) unlock(p *proc) {
	p.atomic(mu.line)
	mu.locked = false
	if len(mu.asleep) == 0 || !mu.starving && mu.woken {
		return
	}
	mu.woken = !mu.starving
	first := mu.asleep[0]
	mu.asleep = mu.asleep[1:]
	p.work(readyTime)
	p.m.resume(first, p.now+wakeTime)
}
