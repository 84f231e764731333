// Package workers has goroutines that run a task and then wait a short time for the next: the
// stack of a new goroutine grows step by step, which takes longer than a task of a microsecond.
package workers

import (
	"sync"
	"sync/atomic"
	"time"
)

// A Task is run once. again says that its goroutine has run another one before.
type Task interface{ Run(again bool) }

// A Func is a function as a Task.
type Func func()

func (f Func) Run(bool) { f() }

const (
	rest = 100 * time.Millisecond // a goroutine without a task ends after this time, or twice that at most
	most = 64                     // goroutines that may wait
)

// A Group has goroutines that run tasks. Those of the zero Group do not wait. Its methods are safe
// for concurrent use.
type Group struct {
	tasks  chan Task    // without a buffer: only a goroutine that waits receives one, or nil, and ends
	kept   atomic.Int32 // goroutines that wait, or will when their task has ended
	used   atomic.Bool  // one has begun to wait since the timer was set
	closed atomic.Bool

	mu    sync.Mutex
	timer *time.Timer // set while kept is not 0; guarded by mu
}

// Init lets goroutines of g wait for tasks. A bubble of testing/synctest does not end while they do.
func (g *Group) Init() { g.tasks = make(chan Task) }

// Go runs a task in another goroutine.
func (g *Group) Go(t Task) {
	select {
	case g.tasks <- t:
	default:
		go g.run(t)
	}
}

// Close ends the goroutines that wait. Others end with their task, and so do those of later tasks.
func (g *Group) Close() {
	g.closed.Store(true)
	g.endAll()
}

func (g *Group) run(t Task) {
	kept := false
	defer func() { // also after runtime.Goexit
		if kept {
			g.kept.Add(-1)
		}
	}()
	for again := false; t != nil; again = true {
		t.Run(again)
		if !kept {
			kept = g.keep()
		}
		if !kept || g.closed.Load() {
			return
		}
		if !g.used.Load() {
			g.used.Store(true)
		}
		t = <-g.tasks
	}
}

// keep reports whether one more goroutine may wait, and counts it.
func (g *Group) keep() bool {
	if g.tasks == nil || g.closed.Load() {
		return false
	}
	switch n := g.kept.Add(1); {
	case n > most:
		g.kept.Add(-1)
		return false
	case n == 1:
		g.setTimer()
	}
	return true
}

func (g *Group) setTimer() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.timer == nil {
		g.timer = time.AfterFunc(rest, g.tick)
		return
	}
	g.timer.Reset(rest)
}

func (g *Group) tick() {
	if g.used.Swap(false) && !g.closed.Load() {
		g.setTimer()
	} else {
		g.endAll()
	}
}

// endAll ends the goroutines that wait. Those that run a task have to wait for the next tick.
func (g *Group) endAll() {
	for {
		select {
		case g.tasks <- nil:
			continue
		default:
		}
		if g.kept.Load() > 0 {
			g.setTimer()
		}
		return
	}
}
