package timers

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/timingwheel/ring"
)

// moves are two ways to make a task due at another tick: that of Ring, which leaves the task in
// its slot if it can, and that of other wheels, which unlink it and link it into another slot.
var moves = []struct {
	name  string
	move  func(r *ring.Ring, i uint32, due int64)
	links float64 // that Counts does not know of, for each move
}{
	{"ring, lazy", func(r *ring.Ring, i uint32, due int64) { r.Set(i, due) }, 0},
	{"ring, eager", func(r *ring.Ring, i uint32, due int64) {
		r.Forget(i)
		r.Set(i, due)
	}, 1},
}

// BenchmarkRing makes the resets of BenchmarkResets in a Ring, without clock and lock.
func BenchmarkRing(b *testing.B) {
	for _, n := range pending(100_000, 1_000_000) {
		for _, row := range allResets(n) {
			for _, m := range moves {
				b.Run(fmt.Sprintf("%s/pending=%d/%s", row.name, n, m.name), func(b *testing.B) {
					r := ring.New(timerSlots)
					r.Resize(n)
					for i := range n {
						r.Set(uint32(i), int64(row.due(0, 0, i)/timerTick))
					}
					w := &row.walks(1, time.Since(epoch))[0]
					for b.Loop() {
						i, due := w.next()
						m.move(r, uint32(i), int64(due/timerTick))
					}
					_, relinks := r.Counts()
					b.ReportMetric(float64(relinks)/float64(b.N)+m.links, "relinks/op")
				})
			}
		}
	}
}

// In a life of heartbeats each task is refreshed at every beat, so it is never due.
const (
	beat    = 50 // ticks
	timeout = 300
)

// BenchmarkHeartbeats runs a Ring for time-outs on end, in which each task is refreshed six
// times, in a random order, and reports what a refresh costs with its share of the ticks and of
// the visits to tasks that are not yet due.
func BenchmarkHeartbeats(b *testing.B) {
	for _, n := range pending(100_000, 1_000_000) {
		order := allResets(n)[1].order
		for _, m := range moves {
			b.Run(fmt.Sprintf("tasks=%d/%s", n, m.name), func(b *testing.B) {
				r := ring.New(timerSlots)
				r.Resize(n)
				live(r, order, beat, m.move) // sets each task
				for b.Loop() {
					live(r, order, timeout, m.move)
				}
				refreshes := float64(b.N) * float64(n) * timeout / beat
				visits, relinks := r.Counts()
				b.ReportMetric(float64(b.Elapsed())/refreshes, "ns/refresh")
				b.ReportMetric(float64(visits)/refreshes, "visits/refresh")
				b.ReportMetric(float64(relinks)/refreshes+m.links, "relinks/refresh")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// live advances the ring. At each tick it refreshes those tasks whose beat that is.
func live(r *ring.Ring, order []uint32, ticks int, move func(r *ring.Ring, i uint32, due int64)) {
	for range ticks {
		now := r.Now()
		n, at := len(order), int(now%beat)
		for _, i := range order[at*n/beat : (at+1)*n/beat] {
			move(r, i, now+timeout)
		}
		r.Advance(now+1, math.MaxInt, func(i uint32) int64 { panic(fmt.Sprintf("task %d was not refreshed", i)) })
	}
}
