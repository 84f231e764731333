package runner

import (
	"runtime"
	"testing"
	"testing/synctest"
	"weak"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

// A callback that fails affects no other, in whatever way it and the report of it fail.
func TestFailureIsIsolated(t *testing.T) {
	fails := []func(){
		func() { panic("oops") },
		runtime.Goexit,
		func() { panic(error(nil)) },
		func() { defer runtime.Goexit(); panic("oops") },
		func() {
			defer func() { panic("oops") }()
			runtime.Goexit()
		},
	}
	for i, inReport := range fails[:2] {
		synctest.Test(t, func(t *testing.T) {
			ran, reports := 0, 0
			r := New(1, 0, call, func(any, []byte) { reports++; inReport() })
			for range 3 {
				for _, fail := range fails {
					r.Push(0, fail)
					r.Push(0, func() { ran++ })
				}
			}
			synctest.Wait()
			if n := 3 * len(fails); ran != n || reports != n || r.Panics() != uint64(n) {
				t.Errorf("report %d: %d callbacks ran, %d failed, %d were reported; want %d of each", i, ran, r.Panics(), reports, n)
			}
		})
	}
}

// After a burst the runner keeps a few blocks, whether the items went through
// the fifo only or through a chain.
func TestBurstGivesMemoryBack(t *testing.T) {
	const burst = 1_000_000
	if testing.Short() {
		t.Skip("a million items")
	}
	synctest.Test(t, func(t *testing.T) {
		r := New(2, 0, call, never(t))
		before := settle.Heap()
		for _, keys := range []uint64{1, 1000} {
			g := newGate()
			r.Push(0, g.call)
			item := func() {}
			for i := range uint64(burst) {
				r.Push(i%keys, item)
			}
			synctest.Wait()
			if got := r.Queued(); keys == 1 && got != burst {
				t.Errorf("%d items queued, want %d", got, burst)
			}
			g.open()
			synctest.Wait()
			checkIdle(t, r)
			if grown := settle.Heap() - before; grown > 1<<20 {
				t.Errorf("burst on %d keys: the heap has grown by %d bytes", keys, grown)
			}
		}
		runtime.KeepAlive(r)
	})
}

// checkIdle fails if r, which must be idle, holds on to more than it should.
func checkIdle[T any](t interface{ Fatalf(string, ...any) }, r *Runner[T]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.workers != 0 || len(r.running) != 0 || r.queued.Load() != 0 || length(&r.fifo) != 0 {
		t.Fatalf("idle: %d workers, %d keys running, %d queued, %d in fifo", r.workers, len(r.running), r.queued.Load(), length(&r.fifo))
	}
	if r.room != nil || r.idle != nil {
		t.Fatalf("idle, and yet somebody waits")
	}
	if len(r.unused) > r.limit {
		t.Fatalf("%d unused chains, want at most %d", len(r.unused), r.limit)
	}
	for _, q := range r.unused {
		if length(q) != 0 {
			t.Fatalf("an unused chain has %d items", length(q))
		}
		if n := held(q); n > 2 {
			t.Fatalf("an unused chain has %d blocks", n)
		}
	}
	if n := held(&r.fifo); n > 2 {
		t.Fatalf("fifo has %d blocks", n)
	}
}

// held counts the blocks of q.
func held[E any](q *queue[E]) int {
	n := 0
	for b := q.head; b != nil; b = b.next {
		n++
	}
	if q.unused != nil {
		n++
	}
	return n
}

// The item of an ended callback must not be kept by its worker, nor by the heir
// of a worker that was ended.
func TestItemsAreNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type item struct {
			n int
			_ [1 << 16]byte // so that it shares its memory with nothing
		}
		g := newGate()
		r := New(1, 0, func(i *item) {
			switch i.n {
			case 0:
				runtime.Goexit() // the next one begins in an heir
			case 3:
				g.call()
			}
		}, nil)
		var items [4]weak.Pointer[item]
		for n := range items {
			i := &item{n: n}
			items[n] = weak.Make(i)
			r.Push(uint64(n), i)
		}
		<-g.entered
		runtime.GC()
		for n, w := range items[:3] {
			if w.Value() != nil {
				t.Errorf("item %d is kept after its callback", n)
			}
		}
		g.open()
	})
}

func TestAllocs(t *testing.T) {
	t.Run("push and run", func(t *testing.T) {
		done := make(chan struct{}, 1)
		r := New(2, 0, func(int) { done <- struct{}{} }, nil)
		i := uint64(0)
		wantSame(t, "allocations", testing.AllocsPerRun(1000, func() {
			r.Push(i, 0)
			<-done
			i++
		}), 0)
		_ = r.Drain(t.Context())
	})
	t.Run("through a chain", func(t *testing.T) {
		blocked, done := make(chan struct{}), make(chan struct{}, 1)
		r := New(2, 0, func(i int) {
			switch i {
			case 0:
				<-blocked
			case 2:
				done <- struct{}{}
			}
		}, nil)
		wantSame(t, "allocations", testing.AllocsPerRun(1000, func() {
			r.Push(7, 0)
			r.Push(7, 1)
			r.Push(8, 2) // once it runs, the one before has been deferred
			<-done
			r.Push(7, 2)
			blocked <- struct{}{}
			<-done
		}), 0)
		_ = r.Drain(t.Context())
	})
}
