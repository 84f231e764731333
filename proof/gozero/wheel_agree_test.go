package gozero

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	theirs "github.com/zeromicro/go-zero/core/collection"

	"github.com/pinwheel-cache/pinwheel/timingwheel"
)

// TestWheelAgrees runs the same operations on our wheel and on go-zero's and compares what
// fires at every tick. It uses only what go-zero does right: a time-out that is the same for
// all keys and at most a revolution long, and moves by that. So it also checks that the other
// tests and go-zero mean the same by a tick.
func TestWheelAgrees(t *testing.T) {
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 7))
		slots := random.IntN(12) + 1
		timeout := time.Duration(random.IntN(slots)+1) * time.Second
		inBubble(t, fmt.Sprintf("seed %d: %d slots, time-out %v", seed, slots, timeout), func(t *testing.T) {
			ours, other := newRig(), newRig()
			w, err := timingwheel.New(time.Second, slots, func(key string, _ int) { ours.noteTime(key) })
			must(t, err)
			t.Cleanup(w.Stop)
			g, err := theirs.NewTimingWheelWithTicker(time.Second, slots, func(key, _ any) { other.noteTime(key) }, other.hand)
			must(t, err)
			t.Cleanup(g.Stop)
			fired := 0
			for range 300 {
				key := string(rune('a' + random.IntN(6)))
				switch random.IntN(6) {
				case 0, 1:
					must(t, w.SetTimer(key, 0, timeout))
					must(t, g.SetTimer(key, 0, timeout))
				case 2:
					_, err := w.MoveTimer(key, timeout)
					must(t, err)
					must(t, g.MoveTimer(key, timeout))
				case 3:
					_, err := w.RemoveTimer(key)
					must(t, err)
					must(t, g.RemoveTimer(key))
				default:
					time.Sleep(time.Second)
					other.tick(1)
				}
				synctest.Wait() // go-zero's methods return before they have done anything
				got, want := ours.calls(), other.calls()
				if !slices.Equal(got, want) {
					t.Fatalf("ours fired %v, go-zero's %v", got, want)
				}
				fired += len(got)
			}
			if fired == 0 {
				t.Error("nothing has fired")
			}
		})
	}
}
