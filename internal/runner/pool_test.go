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
	"weak"

	"pgregory.net/rapid"
)

// A list is the owner of a pool, as simple as one can be.
type list struct {
	*Pool
	mu    sync.Mutex
	fifo  queue[func()]
	ready atomic.Int64
}

// caller claims and calls one item on the calling goroutine, as an owner has done by
// goroutines that are not the pool's. It reports whether there was one.
func (l *list) caller() (found bool) {
	found = true // also if the callback panics
	l.Run(func() { found = l.Pool.next() })
	return found
}

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

func TestNewPoolPanics(t *testing.T) {
	no := func() bool { return false }
	for _, c := range []struct {
		workers     int
		next, ready func() bool
		want        string
	}{
		{0, no, no, "runner: the number of workers must be positive"},
		{-1, no, no, "runner: the number of workers must be positive"},
		{1, nil, no, "runner: nothing to call"},
		{1, no, nil, "runner: nothing to call"},
	} {
		func() {
			defer func() {
				if got := recover(); got != c.want {
					t.Errorf("NewPool(%d): got panic %v, want %q", c.workers, got, c.want)
				}
			}()
			NewPool(c.workers, c.next, c.ready, nil)
		}()
	}
}

// Callbacks that block do not keep the others from being started, up to the
// limit, by a single Wake too.
func TestRampUp(t *testing.T) {
	for name, put := range map[string]func(*list, func()){
		"a Wake each":         (*list).add,
		"one Wake at the end": (*list).put,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const workers = 3
				l := newList(workers, never(t))
				gates := make([]*gate, 10)
				for i := range gates {
					gates[i] = newGate()
					put(l, gates[i].call)
				}
				l.Wake()
				for i := range len(gates) + 1 {
					synctest.Wait()
					if got, want := l.Running(), min(workers, len(gates)-i); got != want {
						t.Errorf("%d have ended: Running = %d, want %d", i, got, want)
					}
					for j, g := range gates {
						if got, want := settled(g.entered), j < i+workers; got != want {
							t.Errorf("%d have ended: callback %d began is %v, want %v", i, j, got, want)
						}
					}
					if i < len(gates) {
						gates[i].open()
					}
				}
			})
		})
	}
}

// The owner may hold a lock that next takes.
func TestWakeUnderLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newList(2, never(t))
		ran := make(chan struct{})
		l.mu.Lock()
		l.fifo.push(func() { close(ran) })
		l.ready.Add(1)
		for range 10 {
			l.Wake()
		}
		for range 100 {
			runtime.Gosched() // until the workers want the lock
		}
		l.mu.Unlock()
		if !settled(ran) {
			t.Error("the callback did not run")
		}
	})
}

func TestWakeWithoutWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool(1, func() bool { t.Error("next was called"); return false }, func() bool { return false }, nil)
		p.Wake()
		if n := p.Running(); n != 0 {
			t.Errorf("Running = %d, want 0", n)
		}
	})
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
	if err := l.Drain(t.Context()); err != nil {
		t.Error(err)
	}
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

// The same without hooks, in many attempts.
func TestNoWakeUpIsLost(t *testing.T) {
	rounds := 50_000
	if testing.Short() {
		rounds = 5_000
	}
	for _, workers := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			done := make(chan struct{}, 1)
			l := newList(workers, never(t))
			for range rounds {
				l.add(func() { done <- struct{}{} })
				<-done // a deadlock of the bubble if the work is left behind
			}
		})
	}
}

// While another goroutine has claimed the work and not yet counted down, workers neither leave
// nor block it.
func TestReadyTooLong(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	synctest.Test(t, func(t *testing.T) {
		var ready atomic.Bool
		ready.Store(true)
		p := NewPool(3, func() bool { return false }, ready.Load, never(t))
		for range 5 {
			p.Wake()
		}
		if n := p.Running(); n != 3 {
			t.Errorf("Running = %d, want 3", n)
		}
		for range 1000 {
			runtime.Gosched()
		}
		if n := p.Running(); n != 3 {
			t.Errorf("Running = %d while there may be work, want 3", n)
		}
		ready.Store(false)
		synctest.Wait()
		if n := p.Running(); n != 0 {
			t.Errorf("Running = %d, want 0", n)
		}
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
		if n := p.Running(); n != 1 {
			t.Errorf("Running = %d, want 1", n)
		}
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

// A callback that fails, in each way and place, affects no other, on a worker or a caller.
func TestFailureInPoolIsIsolated(t *testing.T) {
	exit := "Goexit"
	for name, fail := range map[string]func(){
		"panic":     func() { panic("oops") },
		"panic nil": func() { panic(error(nil)) },
		exit:        runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			for bad := range 5 {
				synctest.Test(t, func(t *testing.T) {
					for _, workers := range []int{0, 1, 2, 5} {
						l := newList(max(1, workers), nil)
						var ran atomic.Int64
						for i := range 5 {
							l.put(func() {
								ran.Add(1)
								if i == bad {
									fail()
								}
							})
						}
						if workers > 0 {
							l.Wake()
						} else { // only callers
							for i := range 5 {
								l.ready.Store(0) // so that next wakes nobody
								ended := true
								<-started(func() {
									if !l.caller() {
										t.Errorf("caller %d found nothing", i)
									}
									ended = false
								})
								if want := name == exit && i == bad; ended != want {
									t.Errorf("caller %d: the goroutine was ended is %v, want %v", i, ended, want)
								}
							}
						}
						synctest.Wait()
						if got := ran.Load(); got != 5 {
							t.Errorf("%d workers, %d fails: %d ran, want 5", workers, bad, got)
						}
						if got := l.Panics(); got != 1 {
							t.Errorf("%d workers, %d fails: Panics = %d, want 1", workers, bad, got)
						}
						l.checkIdle(t)
					}
				})
			}
		})
	}
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
		<-started(func() { l.Run(runtime.Goexit) })
		l.put(failsByName)
		l.ready.Store(0)
		l.caller()
		if want := []any{"oops", ErrGoexit, "oops", ErrGoexit, "oops"}; !slices.Equal(causes, want) {
			t.Errorf("reports: got %v, want %v", causes, want)
		}
		if got := l.Panics(); got != 5 {
			t.Errorf("Panics = %d, want 5", got)
		}
	})
}

// The frame that marks a callback is anywhere on the stack of a caller.
func TestInCallbackOfPool(t *testing.T) {
	depths := []int{0, 1, 10, 100, 4_096}
	for n := 110; n < 140; n++ { // across the size of the first buffer
		depths = append(depths, n)
	}
	synctest.Test(t, func(t *testing.T) {
		l := newList(1, never(t))
		for _, n := range depths {
			check := func() {
				if !inCallbackAt(n) {
					t.Errorf("in a callback, %d frames deep: got false", n)
				}
			}
			l.add(check)
			synctest.Wait()
			for _, m := range depths {
				atDepth(m, func() {
					l.Run(check)
					l.fifo.push(check)
					l.caller()
					if InCallback() {
						t.Errorf("%d frames deep, not in a callback: got true", m)
					}
				})
			}
			l.Run(func() {
				<-started(func() {
					if InCallback() {
						t.Error("in a goroutine of a callback: got true")
					}
				})
			})
		}
		l.ready.Store(0)
	})
}

// Drain waits for workers, for what their callbacks add, and for callers.
func TestPoolDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newList(1, nil)
		if err := l.Drain(t.Context()); err != nil {
			t.Errorf("Drain of a new pool: %v", err)
		}
		first, added, run, do := newGate(), newGate(), newGate(), newGate()
		l.add(func() { first.call(); l.add(added.call) })
		synctest.Wait()
		go l.Run(func() { run.call(); runtime.Goexit() })
		l.put(do.call)
		go l.caller()
		synctest.Wait()
		if n := l.Running(); n != 3 {
			t.Errorf("Running = %d, want 3", n)
		}
		var drains []<-chan struct{}
		for range 3 {
			drains = append(drains, started(func() {
				if err := l.Drain(t.Context()); err != nil {
					t.Errorf("Drain: %v", err)
				}
			}))
		}
		for i, g := range []*gate{first, do, added, run} {
			for _, d := range drains {
				if settled(d) {
					t.Fatalf("Drain returned after %d callbacks", i)
				}
			}
			g.open()
		}
		for _, d := range drains {
			if !settled(d) {
				t.Error("Drain did not return")
			}
		}
		l.checkIdle(t)
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
				if err := c.l.Drain(t.Context()); err != c.want {
					t.Errorf("Drain of %s in a callback: got %v, want %v", c.name, err, c.want)
				}
			}
		}
		own.add(check)
		synctest.Wait()
		own.Run(check)
		own.put(check)
		own.caller()
		if checks != 3 {
			t.Errorf("%d callbacks ran, want 3", checks)
		}
		g.open()
	})
}

// The workers of a pool are goroutines with work at the root, and are gone when
// there is none to do.
func TestIdlePoolHasNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newList(4, nil)
		g := newGate()
		l.add(g.call)
		for i := range 100 {
			l.add(func() {
				if i%5 < 2 {
					panicOrExit(i%5 == 0)
				}
			})
		}
		synctest.Wait()
		if got := workers(); got != 1 {
			t.Errorf("only a blocked callback is left: %d workers, want 1", got)
		}
		g.open()
		synctest.Wait()
		if got := workers(); got != 0 {
			t.Errorf("idle: %d workers, want 0", got)
		}
		l.checkIdle(t)
		w := weak.Make(l.Pool)
		runtime.KeepAlive(l)
		l = nil
		runtime.GC()
		if w.Value() != nil {
			t.Error("a pool that nobody holds is still there")
		}
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
			if got := testing.AllocsPerRun(1000, once); got != 0 {
				t.Errorf("%v allocations, want 0", got)
			}
			_ = l.Drain(t.Context())
			l.ready.Store(0) // the caller above counted down without a put
		})
	}
}

// TestPoolAgainstModel adds and ends callbacks, and compares after every step:
// the oldest run, as many as the limit allows, and as many as were taken by
// callers.
func TestPoolAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		workers := rapid.IntRange(1, 4).Draw(rt, "workers")
		steps := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 60).Draw(rt, "steps")
		endings := rapid.SliceOfN(rapid.IntRange(0, 2), len(steps), len(steps)).Draw(rt, "endings")
		synctest.Test(t, func(t *testing.T) {
			l := newList(workers, nil)
			var gates, running []*gate
			caller := make(map[*gate]bool)
			began, failed := 0, uint64(0)
			end := func(i int) {
				running[i].open()
				running = slices.Delete(running, i, i+1)
			}
			defer func() { // the bubble must end even if the test fails
				for _, g := range gates {
					select {
					case <-g.opened:
					default:
						g.open()
					}
				}
			}()
			check := func(step int) bool {
				synctest.Wait()
				free := workers
				for _, g := range running {
					if !caller[g] {
						free--
					}
				}
				for ; free > 0 && began < len(gates); free-- {
					running = append(running, gates[began])
					began++
				}
				for i, g := range gates {
					if got, want := settled(g.entered), i < began; got != want {
						rt.Errorf("step %d: callback %d began is %v, want %v", step, i, got, want)
					}
				}
				if got, want := l.Running(), len(running); got != want {
					rt.Errorf("step %d: Running = %d, want %d", step, got, want)
				}
				return !rt.Failed()
			}
			for i, s := range steps {
				switch {
				case s < 6:
					g := newGate()
					gates = append(gates, g)
					bad := ending(endings[i])
					l.add(func() {
						g.call()
						if bad != returns {
							panicOrExit(bad == panics)
						}
					})
					if bad != returns {
						failed++
					}
				case s < 8 && len(running) > 0:
					end(endings[i] * 7 % len(running))
				case s >= 8:
					if began < len(gates) {
						caller[gates[began]] = true
						running = append(running, gates[began])
						began++
					}
					go l.caller()
				}
				if !check(i) {
					return
				}
			}
			for len(running) > 0 {
				end(0)
				if !check(len(steps)) {
					return
				}
			}
			if got := l.Panics(); got != failed {
				rt.Errorf("Panics = %d, want %d", got, failed)
			}
			l.checkIdle(t)
		})
	})
}
