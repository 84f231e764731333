package timingwheel

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
	"github.com/pinwheel-cache/pinwheel/timingwheel/ring"
)

// TestEmptiedWheelsAreSmall checks what a wheel keeps that had many timers, after they have
// fired, or were removed and the alarm for the first has gone off. A shard keeps a little
// over a KB, and there are sixteen for each processor.
func TestEmptiedWheelsAreSmall(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, procs := range []int{1, 2, 16} {
		runtime.GOMAXPROCS(procs)
		for _, slots := range []int{512, ring.MaxSlots} {
			for _, remove := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) { emptied(t, slots, remove) })
			}
		}
	}
}

func emptied(t *testing.T, slots int, remove bool) {
	const wheels, burst = 4, 5000
	delay := func(i int) time.Duration { return time.Hour + time.Duration(i)*ms }
	shards := shardCount(slots, runtime.GOMAXPROCS(0))
	for name, use := range map[string]func() (check func()){
		"by key": func() func() {
			w := newKeyed(t, 10*ms, slots, func(int, int) {})
			for i := range burst {
				mustSetKeyed(t, w, i, i, delay(i))
			}
			for i := range burst {
				if remove {
					wantKeyed(t, "RemoveTimer", true)(w.RemoveTimer(i))
				}
			}
			return func() { wantKeyedSleep(t, w); wantNoRings(t, w.madeShards()) }
		},
		"by handle": func() func() {
			timers := mustTimers(t, 10*ms, slots)
			for i := range burst {
				timer := &Timer{f: func() {}}
				timer.shard = timers.shardAt(i % len(timers.shards))
				timer.shard.start(timer, timers.in(delay(i)))
				if remove {
					wantSame(t, "Stop", timer.Stop(), true)
				}
			}
			return func() {
				if tmAlarm(timers) {
					t.Error("the alarm is set with no timer in the wheel")
				}
				wantNoRings(t, timers.madeShards())
			}
		},
	} {
		var check [wheels]func()
		before := settle.Heap()
		for i := range check {
			check[i] = use()
		}
		time.Sleep(delay(burst) + 10*time.Second)
		synctest.Wait()
		each, most := 0, 6<<10+shards*1536
		for range 100 { // what a wheel keeps stays; now and then collections miss some of what is dead
			if each = int(settle.Heap()-before) / wheels; each <= 2*most {
				break
			}
			runtime.Gosched()
		}
		if each > 2*most {
			t.Errorf("%s, %d slots in %d shards, removed %t: %d bytes for an emptied wheel, want at most %d", name, slots, shards, remove, each, most)
		}
		for _, asleep := range check {
			asleep()
		}
	}
}

// wantNoRings fails if a shard without timers has not given its ring back.
func wantNoRings(t *testing.T, shards []anyShard) {
	t.Helper()
	for i, p := range shards {
		if p.(interface{ idle() bool }).idle() {
			t.Errorf("shard %d of %d keeps its ring", i, len(shards))
		}
	}
}
