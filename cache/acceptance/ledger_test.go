package acceptance

import (
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/internal/settle"
	"github.com/pinwheel-cache/pinwheel/timingwheel"
)

// TestLedger lets many goroutines use every method at once on the real clock. Each value is
// unique. At the end each stored value has been reported exactly once, and no other value.
//
// Catches: reports lost or doubled between threads; values returned after they were reported
// as removed; data races.
func TestLedger(t *testing.T) {
	weigh := func(_, v int) uint32 { return uint32(v % 5) }
	for name, o := range map[string]cache.Options[int, int]{
		"no limit":       {},
		"tiny":           {Limit: 3},
		"one shard":      {Limit: 200, Expire: 3 * time.Millisecond, Jitter: 0.5},
		"many shards":    {Limit: 4096, Expire: 20 * time.Millisecond, Workers: 1},
		"weight":         {MaxWeight: 300, Weigh: weigh, Expire: 5 * time.Millisecond},
		"idle":           {Limit: 500, Idle: 2 * time.Millisecond, Workers: 2},
		"idle and TTL":   {Idle: 2 * time.Millisecond, Expire: 5 * time.Millisecond},
		"slow callbacks": {Limit: 50, Workers: 1},
	} {
		t.Run(name, func(t *testing.T) {
			l := NewLedger(t, o, name == "slow callbacks")
			Together(8, l.Storm)
			l.Audit()
		})
	}
}

// TestProcessorsChange uses a cache, timers by handle and timers by key while runtime.GOMAXPROCS goes up
// and down, as it does in a container whose limit changes. Nothing is lost or comes twice.
func TestProcessorsChange(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	changes := 0
	stop := Meanwhile(t, func() {
		time.Sleep(time.Millisecond)
		runtime.GOMAXPROCS([]int{64, 2, 17, 1, 5, 128, 3}[changes%7])
		changes++
	})
	var owed atomic.Int64 // calls that must come yet
	timers, err := timingwheel.NewTimers(time.Millisecond, 8)
	settle.Must(t, err)
	wheel, err := timingwheel.New(time.Millisecond, 8, func(int, int) { owed.Add(-1) })
	settle.Must(t, err)
	const goroutines = 8
	l := NewLedger(t, cache.Options[int, int]{Expire: 20 * time.Millisecond}, false)
	l.Keys = 4000 // so that it gets more shards by and by
	Together(goroutines, func(g int) {
		for i := range l.rounds / 4 {
			owed.Add(2)
			timer := timers.AfterFunc(time.Duration(i%5)*time.Millisecond, func() { owed.Add(-1) })
			if !timer.Reset(time.Duration(i%7) * time.Millisecond) { // it has been called
				owed.Add(1)
			}
			if err := wheel.SetTimer(i*goroutines+g, i, time.Duration(1+i%5)*time.Millisecond); err != nil {
				t.Error(err)
			}
		}
		l.Storm(g)
	})
	l.Audit()
	for end := time.Now().Add(time.Minute); timers.Len()+wheel.Len() > 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	stop()
	settle.Must(t, errors.Join(timers.Shutdown(t.Context()), wheel.Shutdown(t.Context())))
	if n := owed.Load(); n != 0 {
		t.Errorf("%d calls of timers have not come; less than 0: came twice", n)
	}
}
