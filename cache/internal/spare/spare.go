// Package spare keeps goroutines that have finished, for the next task. The stack of a new
// goroutine is small: to let it grow took longer than all else that a short load of a cache
// does.
package spare

import (
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/affinity"
)

// A Task is what a goroutine is to do.
type Task interface{ Run() }

// A Func is a Task.
type Func func()

// Run calls f.
func (f Func) Run() { f() }

// A worker is a goroutine that waits for its next task.
type worker struct {
	next  chan Task     // closed when the worker is to end
	place *place        // where it waits
	round atomic.Uint32 // the number of sweeps before it began to wait
}

// A place has room for one worker. It has a cache line for itself.
type place struct {
	atomic.Pointer[worker]
	_ [56]byte
}

const (
	placeBits = 6

	// rest is the time between two sweeps: a worker that waits ends after one to two rests.
	rest = 50 * time.Millisecond
)

var (
	places   [1 << placeBits]place
	round    atomic.Uint32
	sweeping atomic.Bool // a sweep is to come
)

// Go runs a task in another goroutine: in one that waits, if the place that the calling goroutine
// usually gets has one. It may not be called in a bubble of testing/synctest: the goroutines
// of a bubble must not leave it, nor others enter it.
//
// While nothing has called Go for two rests no goroutine waits.
func Go(task Task) {
	at := &places[affinity.Hint()>>(64-placeBits)]
	if w := at.Swap(nil); w != nil {
		w.next <- task // has room
		return
	}
	go work(task, at)
}

// work runs a task, and then those that it is given while it waits at its place. If another
// worker waits there it ends.
func work(task Task, at *place) {
	task.Run()
	w := &worker{next: make(chan Task, 1), place: at}
	for w.wait() {
		task, ok := <-w.next
		if !ok {
			return
		}
		task.Run()
	}
}

// wait puts w at its place and has a sweep come. It returns false if the place is taken.
func (w *worker) wait() bool {
	w.round.Store(round.Load())
	if !w.place.CompareAndSwap(nil, w) {
		return false
	}
	if !sweeping.Load() && sweeping.CompareAndSwap(false, true) {
		time.AfterFunc(rest, sweep)
	}
	return true
}

// sweep ends the workers that have waited since before the last sweep.
func sweep() {
	now := round.Add(1) - 1
	left := false
	for i := range places {
		at := &places[i]
		switch w := at.Load(); {
		case w == nil:
		case w.round.Load() == now || !at.CompareAndSwap(w, nil):
			left = true
		default:
			close(w.next)
		}
	}
	if left {
		time.AfterFunc(rest, sweep)
		return
	}
	sweeping.Store(false)
	for i := range places { // a worker that came meanwhile saw a sweep to come
		if places[i].Load() != nil {
			if sweeping.CompareAndSwap(false, true) {
				time.AfterFunc(rest, sweep)
			}
			return
		}
	}
}
