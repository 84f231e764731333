package studies

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"
)

const (
	// step is more than a revolution, so that a timer moved earlier by a step must leave its slot.
	step = (timerSlots + 50) * timerTick

	// After these rounds a row begins anew, lest a delay become too long or too short: in one
	// round of them all timers move the other way.
	rounds = 600
)

// scenarios have, for each round, how much later than in round 0 a timer is due.
var scenarios = []struct {
	name  string
	shift func(round int) time.Duration // nil: to a random time
}{
	{"same tick", func(round int) time.Duration { return time.Duration(round%rounds) * timerTick / 100 }}, // 99 times in 100
	{"later", func(round int) time.Duration { return time.Duration(round%rounds) * step }},
	{"earlier", func(round int) time.Duration { return time.Duration(rounds-round%rounds) * step }},
	{"alternating", func(round int) time.Duration { return time.Duration(round%2) * step }},
	{"random", nil},
}

// resets are a row of a benchmark: which timers are reset, again and again, and to when.
type resets struct {
	name  string
	order []uint32
	shift func(round int) time.Duration
}

// allResets returns the rows for n timers: in order, so that the processor's caches help, and
// at random. For a million there are only the resets to random times.
func allResets(n int) (all []resets) {
	ordered, mixed := make([]uint32, n), make([]uint32, n)
	for i, j := range rand.Perm(n) {
		ordered[i], mixed[i] = uint32(i), uint32(j)
	}
	for _, s := range scenarios {
		if n < 1_000_000 || s.shift == nil {
			all = append(all, resets{s.name + "/in order", ordered, s.shift}, resets{s.name + "/at random", mixed, s.shift})
		}
	}
	return all
}

// due returns when timer i is to be due after a round; all times are since the benchmark began.
// In round 0 it is set. None is due so early that it fires during a benchmark.
func (r *resets) due(now time.Duration, round, i int) time.Duration {
	if r.shift == nil {
		h := (uint64(i) + uint64(round)<<32) * 0x9E3779B97F4A7C15
		return now + time.Minute + time.Duration(h>>20%uint64(59*time.Minute))
	}
	return 10*time.Minute + time.Duration(i%600_000)*time.Millisecond + r.shift(round)
}

// A walk is the part of resets that one goroutine makes: the same timers in each round.
type walk struct {
	resets
	began     time.Duration // since epoch
	now       time.Duration // up to 64 resets ago: reading the clock takes longer than some resets
	at, round int
	_         [64]byte // other goroutines' walks are in other cache lines
}

// start sets the timers of a contender, and returns the walks that will reset them.
func (r resets) start(c contender, goroutines int) (*timers, []walk) {
	began := time.Since(epoch)
	t := c.open(len(r.order), func(int, time.Duration) { fire() })
	for i := range r.order {
		t.set(i, began+r.due(0, 0, i), fire)
	}
	walks, n := make([]walk, goroutines), len(r.order)
	for g := range walks {
		part := resets{r.name, r.order[g*n/goroutines : (g+1)*n/goroutines], r.shift}
		walks[g] = walk{resets: part, began: began, round: 1}
	}
	return t, walks
}

// next returns a timer, and when it is to be due.
func (w *walk) next() (i int, due time.Duration) {
	if w.at == len(w.order) {
		w.at = 0
		w.round++
	}
	if w.at%64 == 0 {
		w.now = time.Since(epoch) - w.began
	}
	i = int(w.order[w.at])
	w.at++
	return i, w.due(w.now, w.round, i)
}

// pending returns how many timers a benchmark has pending: with -short a few, to test that
// it works.
func pending(full ...int) []int {
	if testing.Short() {
		return []int{1000}
	}
	return full
}

// BenchmarkStartStop starts and stops timers beside those that are pending.
func BenchmarkStartStop(b *testing.B) {
	r := allResets(pending(100_000)[0])[0]
	r.name = "start+stop"
	measureAll(b, r, func(t *timers) func(int, time.Duration) { return t.startStop })
}

// BenchmarkResets resets (by handle) or moves (by key) the timers that are pending.
func BenchmarkResets(b *testing.B) {
	for _, n := range pending(100_000, 1_000_000) {
		for _, r := range allResets(n) {
			measureAll(b, r, func(t *timers) func(int, time.Duration) { return t.reset })
		}
	}
}

func measureAll(b *testing.B, r resets, op func(t *timers) func(i int, d time.Duration)) {
	for _, goroutines := range []int{1, 16} {
		for _, c := range contenders {
			measure(b, r, goroutines, c, op)
		}
	}
}

// measure makes resets, or another operation with the same timers and delays.
func measure(b *testing.B, r resets, goroutines int, c contender, op func(t *timers) func(i int, d time.Duration)) {
	var t *timers
	var walks []walk
	b.Run(fmt.Sprintf("%s/pending=%d/goroutines=%d/%s", r.name, len(r.order), goroutines, c.name), func(b *testing.B) {
		if t == nil { // the first of several calls, with more and more operations
			t, walks = r.start(c, goroutines)
			runtime.GC()
		}
		do := op(t)
		b.ReportAllocs()
		b.ResetTimer()
		var wg sync.WaitGroup
		for g := range walks {
			wg.Go(func() {
				w := &walks[g]
				for range (b.N + goroutines - 1) / goroutines {
					i, due := w.next()
					do(i, due-w.now)
				}
			})
		}
		wg.Wait()
		if fired.Load() > 0 {
			b.Fatal("a timer has fired: the benchmark took too long, its figures mean nothing")
		}
	})
	if t != nil {
		t.stop()
	}
}

// BenchmarkMemory reports the bytes of a pending timer: by key without the 16 of key and value,
// by handle with what the handle points to. 1,100,000 timers are a bad case: the arrays have
// just been doubled.
func BenchmarkMemory(b *testing.B) {
	for _, n := range pending(100_000, 1_000_000, 1_100_000) {
		r := allResets(n)[0]
		for _, c := range contenders {
			b.Run(fmt.Sprintf("pending=%d/%s", n, c.name), func(b *testing.B) {
				for range b.N {
					runtime.GC() // what an earlier one left
					before := heapBytes()
					t, _ := r.start(c, 1)
					b.ReportMetric(float64(int64(heapBytes())-int64(before))/float64(n)-c.own, "B/timer")
					t.stop()
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// heapBytes returns how many bytes of heap are in use.
func heapBytes() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
