package runner

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

// A rack is what a test of Direct pushes and calls under a lock, as a shard of a cache.
type rack struct {
	sync.Mutex
	*Direct[func()]
}

func newRack(report func(any, []byte)) *rack { return &rack{Direct: NewDirect(call, report)} }

// push pushes calls for a key in one hold of the lock, and returns what is owed.
func (r *rack) push(key uint64, calls ...func()) *Owed[func()] {
	r.Lock()
	defer r.Unlock()
	for _, f := range calls {
		r.Push(r, key, f)
	}
	return r.Take(r)
}

// TestDirectCalls checks that Run calls everything before it returns, in the order of the pushes,
// also that of several holds.
func TestDirectCalls(t *testing.T) {
	r := newRack(never(t))
	var got []int
	say := func(n int) func() { return func() { got = append(got, n) } }
	owed := r.push(1, say(1), say(2)).Add(r.push(2, say(3))).Add(nil).Add(r.push(1, say(4)))
	if len(got) > 0 || r.Queued() != 4 || r.Idle() {
		t.Errorf("before Run: called %v, %d queued", got, r.Queued())
	}
	r.Run(owed)
	r.Run(nil)
	if !slices.Equal(got, []int{1, 2, 3, 4}) || r.Queued() != 0 || !r.Idle() || len(r.taken) != 0 {
		t.Errorf("called %v, %d queued, idle %v", got, r.Queued(), r.Idle())
	}
	if n := testing.AllocsPerRun(100, func() { r.Run(r.push(1, func() {})) }); n > 1 {
		t.Errorf("%v allocations for a call, want one", n)
	}
}

// TestDirectWaitsForItsTurn has a goroutine that owes the later call of a key wait for the earlier
// one, which another goroutine has begun, or not yet.
func TestDirectWaitsForItsTurn(t *testing.T) {
	for _, begun := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			r := newRack(never(t))
			g := newGate()
			var got []int
			early := r.push(1, func() { g.call(); got = append(got, 1) })
			late := r.push(1, func() { got = append(got, 2) })
			other := r.push(2, func() { got = append(got, 3) })
			if begun {
				go r.Run(early)
				<-g.entered
			}
			ran := started(func() { r.Run(late) })
			if settled(ran) {
				t.Fatalf("begun %v: the later call did not wait: %v", begun, got)
			}
			r.Run(other)
			r.RunNow(r.push(1, func() { got = append(got, 4) }))
			if !begun {
				go r.Run(early)
			}
			if n, _ := settledRunning(r); n != 1 {
				t.Errorf("%d running, want 1", n)
			}
			drained := started(func() {
				if err := r.Drain(context.Background()); err != nil {
					t.Errorf("Drain: %v", err)
				}
			})
			if settled(drained) {
				t.Error("Drain did not wait")
			}
			g.open()
			if !settled(ran) || !settled(drained) || !slices.Equal(got, []int{3, 1, 2, 4}) {
				t.Errorf("begun %v: called %v", begun, got)
			}
		})
	}
}

func settledRunning(r *rack) (n int, wait any) {
	synctest.Wait()
	return r.Running()
}

// TestDirectInACallback checks that a callback waits for no other: what it owes of keys whose call
// has not ended follows that call, in its goroutine, and the rest is called at once.
func TestDirectInACallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRack(never(t))
		var got []int
		g := newGate()
		away := r.push(9, func() { g.call(); got = append(got, 90) })
		go r.Run(away)
		<-g.entered
		r.Run(r.push(1, func() {
			got = append(got, 1)
			r.Run(r.push(1, func() { got = append(got, 4) }, func() { got = append(got, 5) }))
			r.Run(r.push(2, func() { got = append(got, 2) }))
			r.Run(r.push(9, func() { got = append(got, 91) }))
			if err := r.Drain(context.Background()); !errors.Is(err, ErrCallback) {
				t.Errorf("Drain in a callback: %v", err)
			}
			got = append(got, 3)
		}))
		if want := []int{1, 2, 3, 4, 5}; !slices.Equal(got, want) {
			t.Errorf("called %v, want %v", got, want)
		}
		g.open()
		synctest.Wait()
		if want := []int{1, 2, 3, 4, 5, 90, 91}; !slices.Equal(got, want) || !r.Idle() {
			t.Errorf("called %v, want %v", got, want)
		}
	})
}

// TestDirectPanics checks that a panic is reported and ends there, and that a Goexit ends the
// goroutine after all else that it owes, and what was left to it.
func TestDirectPanics(t *testing.T) {
	var reported []any
	r := newRack(func(recovered any, _ []byte) { reported = append(reported, recovered) })
	var got []int
	say := func(n int) func() { return func() { got = append(got, n) } }
	r.Run(r.push(1, func() { panic("oh") }, say(1)))
	returned := false
	<-started(func() {
		r.Run(r.push(1, func() {
			r.Run(r.push(1, say(2), runtime.Goexit, say(3)))
			runtime.Goexit()
		}, say(4)).Add(r.push(2, runtime.Goexit, say(5))))
		returned = true
	})
	if want := []int{1, 4, 2, 3, 5}; !slices.Equal(got, want) || returned || !r.Idle() {
		t.Errorf("called %v, want %v; Run returned: %v; idle: %v", got, want, returned, r.Idle())
	}
	if want := fmt.Sprint([]any{"oh", ErrGoexit, ErrGoexit, ErrGoexit}); fmt.Sprint(reported) != want || r.Panics() != 4 {
		t.Errorf("reported %v, want %v; %d panics", reported, want, r.Panics())
	}
}

// TestDirectStress has goroutines push and run calls of a few keys, some of which push more. Each
// key's calls come in the order of its pushes, one at a time, and those outside callbacks before
// Run returns, in the goroutine that pushed them.
func TestDirectStress(t *testing.T) {
	const keys, goroutines, rounds = 3, 8, 500
	r := newRack(never(t))
	var pushed, called [keys]int
	var active [keys]bool
	var push func(key int, nested bool) (*Owed[func()], *bool)
	push = func(key int, nested bool) (*Owed[func()], *bool) {
		r.Lock()
		defer r.Unlock()
		n := pushed[key]
		pushed[key]++
		done := new(bool)
		r.Push(r, uint64(key), func() {
			if active[key] || called[key] != n {
				t.Errorf("key %d: call %d while %d is next (running: %v)", key, n, called[key], active[key])
			}
			active[key] = true
			if !nested && n%5 == 0 {
				for other := range keys {
					owed, _ := push(other, true)
					r.Run(owed)
				}
			}
			active[key] = false
			called[key]++
			*done = true
		})
		return r.Take(r), done
	}
	var group sync.WaitGroup
	for g := range goroutines {
		group.Go(func() {
			for i := range rounds {
				a, first := push((g+i)%keys, false)
				b, second := push(i%keys, false)
				r.Run(a.Add(b))
				if !*first || !*second {
					t.Error("Run returned before its calls had ended")
				}
			}
		})
	}
	group.Wait()
	if err := r.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	if pushed != called || r.Queued() != 0 || len(r.first) != 0 {
		t.Errorf("pushed %v, called %v, %d queued", pushed, called, r.Queued())
	}
}
