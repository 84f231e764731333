package stats_test

import (
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// counted returns source, which counts its calls in n.
func counted[S any](n *atomic.Int64, source func() (S, bool)) func() (S, bool) {
	return func() (S, bool) {
		n.Add(1)
		return source()
	}
}

// TestASourceThatHangsWhileSampled checks that a source that hangs stops only answers that need
// it, also if it waits for a lock that the caller of Handler holds.
func TestASourceThatHangsWhileSampled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r stats.Registry
		var lock sync.Mutex
		var calls atomic.Int64
		r.Register("users", counted(&calls, func() (stats.Snapshot, bool) {
			lock.Lock()
			defer lock.Unlock()
			return stats.Snapshot{}, true
		}))
		r.Handler()
		lock.Lock()
		time.Sleep(5 * time.Second) // no Wait: a goroutine that waits for a Mutex is not idle
		for calls.Load() < 2 {
			runtime.Gosched()
		}
		h := r.Handler()
		if got := serve(h, http.MethodGet, "/").Code; got != http.StatusOK {
			t.Errorf("status %d, want 200", got)
		}
		lock.Unlock()
		sleep(11 * time.Second)
		if got := len(show(t, h, 61).Caches[0].History); got != 4 { // 5, 10, 15 and the running one
			t.Errorf("%d points, want 4", got)
		}
	})
}

// TestSourcesAreCalledOncePerInterval checks that a source is called once every five seconds,
// however many handlers there are, and without one only by those who look.
func TestSourcesAreCalledOncePerInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r stats.Registry
		var caches, wheels atomic.Int64
		r.Register("users", counted(&caches, always(stats.Snapshot{})))
		r.RegisterWheel("idle", counted(&wheels, always(stats.WheelSnapshot{})))
		sleep(time.Hour)
		r.Caches()
		r.Wheels()
		r.Metrics()
		r.VarString()
		sleep(time.Hour)
		if c, w, n := caches.Load(), wheels.Load(), len(r.Samples("users")); c != 3 || w != 3 || n != 0 {
			t.Errorf("%d and %d calls by three looks at each, and %d samples", c, w, n)
		}
		for range 10 {
			h := r.Handler()
			sleep(100 * time.Millisecond)
			body(t, h, "/") // the page does not need them
		}
		sleep(time.Hour - time.Millisecond)
		const want = 3 + 1 + 3600/5
		if c, w := caches.Load(), wheels.Load(); c != want || w != want {
			t.Errorf("%d and %d calls until an hour later, want %d", c, w, want)
		}
	})
}

// TestSamplesThatBeginAgainAreNotTwice checks that when samples begin again, the old timer, which
// may still be set, takes none.
func TestSamplesThatBeginAgainAreNotTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r stats.Registry
		var calls atomic.Int64
		begin := time.Now()
		r.Register("users", counted(&calls, func() (stats.Snapshot, bool) {
			if time.Since(begin) == 10*time.Second {
				time.Sleep(15 * time.Second) // the next sample is due at 30 s
			}
			return stats.Snapshot{}, true
		}))
		r.Handler()
		inAMinute := func() int64 {
			before := calls.Load()
			sleep(time.Minute)
			return calls.Load() - before
		}
		sleep(26 * time.Second)
		r.Handler() // the last sample is of 10 s
		if got := inAMinute(); got != 12 {
			t.Errorf("%d samples in a minute, want 12", got)
		}
		for range 3 {
			r.Handler() // at the time of a sample
		}
		if got := inAMinute(); got != 12 {
			t.Errorf("%d samples in a minute, want 12", got)
		}
	})
}

// TestAHandlerOfAnEarlierBubble checks a handler that outlives a bubble: its timer ends with the
// bubble, and the clock of the next one begins anew.
func TestAHandlerOfAnEarlierBubble(t *testing.T) {
	for _, first := range []time.Duration{0, 2 * time.Second, 5 * time.Second, time.Hour} {
		var r stats.Registry
		var calls atomic.Int64
		r.Register("old", counted(&calls, always(stats.Snapshot{})))
		var h http.Handler
		synctest.Test(t, func(t *testing.T) {
			h = r.Handler()
			show(t, h, 61)
			sleep(first)
		})
		synctest.Test(t, func(t *testing.T) {
			_, unregister := r.Register("users", ticking())
			defer unregister()
			for _, test := range []struct {
				sleep time.Duration
				want  int
			}{{0, 0}, {time.Second, 1}, {11 * time.Second, 3}, {30 * time.Minute, 61}} {
				sleep(test.sleep)
				for _, c := range show(t, h, 61).Caches {
					if w := c.Windows; c.Name == "users" && test.want == 61 && (w["1m"] != (shownWindow{62, 186_000, 4000}) || w["5m"] != (shownWindow{302, 906_000, 4000})) {
						t.Errorf("the windows are %+v", w)
					}
					if len(c.History) != test.want {
						t.Errorf("a bubble of %v, %v later: %s has %d points, want %d", first, test.sleep, c.Name, len(c.History), test.want)
					}
					for _, p := range c.History {
						if p.Seconds > 5 {
							t.Errorf("a bubble of %v: a point of %v s", first, p.Seconds)
						}
					}
				}
			}
		})
		before := calls.Load()
		r.Handler()
		if got, n := calls.Load()-before, len(r.Samples("old")); got != 1 || n != 1 {
			t.Errorf("a bubble of %v: %d samples by a Handler in real time, %d in the history, want 1", first, got, n)
		}
	}
}

// TestMemoryOfHistories measures the heap: a handler, and who reads the metrics, makes no history; one
// takes as much as Handler says, and those of very many caches no more together.
func TestMemoryOfHistories(t *testing.T) {
	for _, test := range []struct {
		caches, points, most int
		lasts                time.Duration
	}{
		{100, 61, 100 * 172_000, 6 * time.Minute},
		{2000, 6, 53 << 20, 90 * time.Second}, // other tests have a few histories, which grow meanwhile
		{20_000, 1, 60 << 20, 30 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			var r stats.Registry
			h := r.UnaskedHandler()
			for range test.caches {
				r.Register("users", always(stats.Snapshot{}))
			}
			body(t, h, "/metrics?cache=users")
			body(t, h, "/")
			sleep(time.Hour)
			if n := len(r.Samples("users")); n != 0 {
				t.Errorf("%d samples before anybody asked for stats.json", n)
			}
			before := settle.Heap()
			body(t, h, "/stats.json?cache=users")
			sleep(test.lasts)
			took := int(settle.Heap() - before)
			t.Logf("the histories of %d caches take %d KB", test.caches, took>>10)
			if took > test.most {
				t.Errorf("the histories of %d caches take %d KB, want at most %d", test.caches, took>>10, test.most>>10)
			}
			if n := len(r.Samples("users")); n < test.points {
				t.Errorf("%d samples of each of %d caches, want at least %d", n, test.caches, test.points)
			}
			runtime.KeepAlive(&r)
		})
	}
}
