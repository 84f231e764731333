package timingwheel

import (
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

// TestKeyedMemory measures the memory of a pending timer beyond its key and value, for
// arrays filled to different degrees.
func TestKeyedMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("a million timers")
	}
	// Each shard that was used keeps a ring of 4 KiB, and there are sixteen per processor.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	const most = 64
	for _, n := range []uint64{100_000, 1_000_000} {
		before := settle.Heap()
		w := newKeyed(t, time.Hour, 512, func(uint64, uint64) {})
		for key := range n {
			mustSetKeyed(t, w, key, key, time.Duration(1+key%5000)*time.Hour)
		}
		each := float64(settle.Heap()-before)/float64(n) - float64(2*unsafe.Sizeof(n))
		t.Logf("%d timers: %.1f bytes each beside key and value", n, each)
		if each > most {
			t.Errorf("%d timers: %.1f bytes each beside key and value, want at most %d", n, each, most)
		}
		for key := range n {
			if key%1000 > 0 {
				wantKeyed(t, "RemoveTimer", true)(w.RemoveTimer(key))
			}
		}
		if left := float64(settle.Heap()-before) / float64(n); left > 2 {
			t.Errorf("%d timers, all but one in a thousand removed: still %.1f bytes each", n, left)
		}
		runtime.KeepAlive(w)
		w.Stop()
	}
}

// TestIdleWheelsAreSmall checks what a wheel takes before its first timer, at any number
// of processors, and after Stop: next to nothing.
func TestIdleWheelsAreSmall(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	const wheels, idle, stopped = 400, 6<<10 + 64, 8 << 10 // so many that what other tests leave hardly counts
	for _, procs := range []int{1, 2, 16, 64} {
		runtime.GOMAXPROCS(procs)
		for name, f := range map[string]func() (use, stop func()){
			"by key": func() (use, stop func()) {
				w, err := New(10*time.Millisecond, 512, func(int, int) {})
				must(t, err)
				return func() {
					for key := range 250 {
						mustSetKeyed(t, w, key, 0, time.Hour)
					}
				}, w.Stop
			},
			"by handle": func() (use, stop func()) {
				timers, err := NewTimers(10*time.Millisecond, 512)
				must(t, err)
				return func() {
					for i := range 250 {
						timers.start(&Timer{f: func() {}}, timers.in(time.Hour+time.Duration(i)))
					}
				}, timers.Stop
			},
		} {
			var use, stop [wheels]func()
			before := settle.Heap()
			for i := range wheels {
				use[i], stop[i] = f()
			}
			if each := (settle.Heap() - before) / wheels; each > idle {
				t.Errorf("%s, %d processors: %d bytes for an idle wheel, want at most %d", name, procs, each, idle)
			}
			for i := range wheels {
				use[i]()
				stop[i]()
			}
			if each := (settle.Heap() - before) / wheels; each > stopped {
				t.Errorf("%s, %d processors: %d bytes for a stopped wheel, want at most %d", name, procs, each, stopped)
			}
			runtime.KeepAlive(use)
		}
	}
}
