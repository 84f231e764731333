package runner

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// TestStress lets producers push under the locks of shards, as a cache does,
// and accounts for every item: called once, in the order of its key, with no
// two calls of a key and no more than the workers at once. The queue exceeds the backlog by
// one item of each producer, and one that each callback pushes.
func TestStress(t *testing.T) {
	const (
		producers = 8
		workers   = 4
		backlog   = 64
		keys      = 16
	)
	perProducer := 5_000
	if testing.Short() {
		perProducer = 500
	}

	type event struct {
		key   uint64
		seq   int // what was pushed for this key before
		depth int
	}
	var shards [keys]struct {
		sync.Mutex
		pushed int
	}
	// The two below are written by callbacks without a lock: that the calls of
	// a key follow each other is what makes it right, and the race detector
	// sees if they do not.
	var called [keys]int
	var inside [keys]bool
	var at, most, failed atomic.Int64

	var r *Runner[event]
	push := func(key uint64, depth int) {
		s := &shards[key]
		s.Lock()
		r.Push(key, event{key, s.pushed, depth})
		s.pushed++
		s.Unlock()
		if n := r.Queued(); n > backlog+producers+workers {
			t.Errorf("%d items are queued, though producers wait at %d", n, backlog)
		}
		if err := r.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	}
	r = New(workers, backlog, func(e event) {
		for n := at.Add(1); ; {
			m := most.Load()
			if n <= m || most.CompareAndSwap(m, n) {
				break
			}
		}
		defer at.Add(-1)
		if inside[e.key] {
			t.Errorf("key %d: two calls at once", e.key)
		}
		inside[e.key] = true
		if e.seq != called[e.key] {
			t.Errorf("key %d: call of item %d, want %d", e.key, e.seq, called[e.key])
		}
		called[e.key]++
		if e.depth == 0 && e.seq%5 == 0 {
			push((e.key+uint64(e.seq))%keys, 1)
		}
		if e.seq%3 == 0 {
			runtime.Gosched()
		}
		inside[e.key] = false
		if e.seq%11 == 0 || e.seq%13 == 0 {
			failed.Add(1)
			panicOrExit(e.seq%11 == 0)
		}
	}, nil)

	var wg sync.WaitGroup
	for p := range producers {
		wg.Go(func() {
			for i := range perProducer {
				push(uint64(p+i*i)%keys, 0)
				if i%1000 == 0 {
					_ = r.Drain(t.Context())
				}
			}
		})
	}
	wg.Wait()
	must(t, r.Drain(t.Context()))
	for key := range shards {
		if got, want := called[key], shards[key].pushed; got != want {
			t.Errorf("key %d: %d calls for %d items", key, got, want)
		}
	}
	if n := most.Load(); n > workers {
		t.Errorf("%d callbacks at once, want at most %d", n, workers)
	}
	wantSame(t, "Panics", r.Panics(), uint64(failed.Load()))
	checkIdle(t, r)
}
