package runner

import (
	"bytes"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A list is the owner of a pool, as simple as one can be.
type list struct {
	*Pool
	mu    sync.Mutex
	fifo  queue[func()]
	ready atomic.Int64
}

// caller claims and calls one item, if there is one, on the calling goroutine, as an owner has
// done by goroutines that are not the pool's.
func (l *list) caller() { l.Run(func() { l.Pool.next() }) }

func newList(workers int, report func(any, []byte)) *list {
	l := new(list)
	l.Pool = NewPool(workers, l.next, func() bool { return l.ready.Load() > 0 }, report)
	return l
}

func (l *list) add(f func()) {
	l.put(f)
	l.Wake()
}

// put adds work without a Wake.
func (l *list) put(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fifo.push(f)
	l.ready.Add(1)
}

// next counts down late, so that ready is true a moment too long.
func (l *list) next() bool {
	l.mu.Lock()
	f, ok := l.fifo.pop()
	l.mu.Unlock()
	if !ok {
		return false
	}
	if l.ready.Add(-1) > 0 {
		l.Wake()
	}
	f()
	return true
}

// checkIdle fails if l, for which nobody works, has work or workers.
func (l *list) checkIdle(t *testing.T) {
	t.Helper()
	if n := length(&l.fifo); n != 0 || l.Running() != 0 {
		t.Errorf("idle: %d pieces of work and %d workers", n, l.Running())
	}
	if l.idle != nil {
		t.Error("idle, and yet somebody waits")
	}
}

func TestWakeOfBusyPoolTakesNoLock(t *testing.T) {
	l := newList(1, never(t))
	g := newGate()
	l.add(g.call)
	<-g.entered
	l.put(func() {})
	l.Pool.mu.Lock()
	woken := started(l.Wake)
	select {
	case <-woken:
	case <-time.After(time.Minute):
		t.Error("Wake waits for the lock")
	}
	l.Pool.mu.Unlock()
	<-woken
	g.open()
	must(t, l.Drain(t.Context()))
	l.checkIdle(t)
}

// Work that becomes ready after the last worker has looked for it, and before it
// has left, is run although its Wake found that worker.
func TestWakeOfLeavingWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p *Pool
		ready, calls, ran := true, 0, false
		p = NewPool(1, func() bool {
			calls++
			switch calls {
			case 1: // finds nothing; now there is work
				ready = true
				p.Wake()
				return false
			case 2:
				ready, ran = false, true
				return true
			}
			return false
		}, func() bool { return ready }, never(t))
		p.Wake()
		synctest.Wait()
		if !ran || p.Running() != 0 {
			t.Errorf("ran is %v, Running = %d, want true and 0", ran, p.Running())
		}
	})
}

// Without work Wake starts no worker. While another goroutine has claimed the work and not yet counted
// down, workers neither leave nor block it.
func TestReadyTooLong(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	synctest.Test(t, func(t *testing.T) {
		var ready atomic.Bool
		p := NewPool(3, func() bool { return false }, ready.Load, never(t))
		p.Wake()
		wantSame(t, "Running without work", p.Running(), 0)
		ready.Store(true)
		for range 5 {
			p.Wake()
		}
		wantSame(t, "Running", p.Running(), 3)
		for range 1000 {
			runtime.Gosched()
		}
		wantSame(t, "Running while there may be work", p.Running(), 3)
		ready.Store(false)
		synctest.Wait()
		wantSame(t, "Running at the end", p.Running(), 0)
	})
}

// Of two Wakes that find a worker missing at the same time, one starts it.
func TestWakesAtOnceKeepLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p *Pool
		var asked atomic.Int64
		gate := make(chan struct{})
		p = NewPool(1, func() bool { <-gate; return false }, func() bool {
			n := asked.Add(1)
			if n == 1 {
				p.Wake() // between the look at the workers and the start of one
			}
			return n <= 2
		}, never(t))
		p.Wake()
		wantSame(t, "Running", p.Running(), 1)
		close(gate)
	})
}

// A worker that stays keeps its place until it has left, also from a Wake while it is counted out.
func TestStayingWorkerKeepsPlace(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	synctest.Test(t, func(t *testing.T) {
		var p *Pool
		var asked atomic.Int64
		most := 0
		p = NewPool(1, func() bool {
			most = max(most, p.Running())
			return false
		}, func() bool {
			n := asked.Add(1)
			if n > 1 && n < 10 {
				go p.Wake() // which calls ready too, if it finds the worker missing
			}
			return n < 10
		}, never(t))
		p.Wake()
		synctest.Wait()
		if n := asked.Load(); n < 10 || most != 1 || p.Running() != 0 {
			t.Errorf("ready was asked %d times, at most %d workers, %d at the end; want 10, 1, and 0", n, most, p.Running())
		}
	})
}

func failsByName() { panic("oops") }

func TestPoolReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var causes []any
		l := newList(1, func(recovered any, stack []byte) {
			causes = append(causes, recovered)
			if recovered != ErrGoexit && !bytes.Contains(stack, []byte("failsByName")) {
				t.Errorf("the stack does not show the callback:\n%s", stack)
			}
		})
		l.add(failsByName)
		l.add(runtime.Goexit)
		synctest.Wait()
		l.Run(failsByName)
		l.Run(func() {})
		ended := true
		<-started(func() { l.Run(runtime.Goexit); ended = false })
		if !ended {
			t.Error("a Goexit in Run has not ended the goroutine")
		}
		l.put(failsByName)
		l.ready.Store(0)
		l.caller()
		if want := []any{"oops", ErrGoexit, "oops", ErrGoexit, "oops"}; !slices.Equal(causes, want) {
			t.Errorf("reports: got %v, want %v", causes, want)
		}
		wantSame(t, "Panics", l.Panics(), 5)
	})
}

func TestPoolDrainInCallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own, busy, idle := newList(1, never(t)), newList(1, never(t)), newList(1, never(t))
		g := newGate()
		busy.add(g.call)
		synctest.Wait()
		checks := 0
		check := func() {
			checks++
			for _, c := range []struct {
				name string
				l    *list
				want error
			}{{"its own pool", own, ErrCallback}, {"a busy pool", busy, ErrCallback}, {"an idle pool", idle, nil}} {
				wantSame(t, "Drain of "+c.name+" in a callback", c.l.Drain(t.Context()), c.want)
			}
		}
		own.add(check)
		synctest.Wait()
		own.Run(check)
		own.put(check)
		own.caller()
		wantSame(t, "callbacks that ran", checks, 3)
		g.open()
	})
}

func TestPoolAllocs(t *testing.T) {
	done := make(chan struct{}, 1)
	l := newList(2, never(t))
	f := func() { done <- struct{}{} }
	for name, once := range map[string]func(){
		"Wake, with a worker started": func() { l.add(f); <-done },
		"caller":                      func() { l.fifo.push(f); l.caller(); <-done },
		"Run":                         func() { l.Run(f); <-done },
	} {
		t.Run(name, func(t *testing.T) {
			wantSame(t, "allocations", testing.AllocsPerRun(1000, once), 0)
			_ = l.Drain(t.Context())
			l.ready.Store(0) // the caller above counted down without a put
		})
	}
}
