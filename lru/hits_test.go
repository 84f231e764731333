package lru

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestAdaptiveHits replays generated traces, and so notices a change of the policy that
// costs half a point.
func TestAdaptiveHits(t *testing.T) {
	const slots = 1000
	for _, test := range []struct {
		name  string
		trace []uint64
		want  float64 // percent
	}{
		{"skew with keys that come once", skewedTrace(slots), 40.15},
		{"loops just longer than the order, and skew by turns", loopTrace(slots), 63.57},
	} {
		if got := adaptiveHits(slots, test.trace); math.Abs(got-test.want) > 0.3 {
			t.Errorf("%s: %.2f %% hits, want %.2f", test.name, got, test.want)
		}
	}
}

// skewedTrace has keys by a Zipf distribution that shifts; one key in three never comes
// again.
func skewedTrace(n int) (trace []uint64) {
	r := rand.New(rand.NewPCG(1, 2))
	skewed := rand.NewZipf(r, 1.01, 10, uint64(10*n))
	for i := range uint64(200 * n) {
		if r.IntN(3) == 0 {
			trace = append(trace, 1<<32+i)
		} else {
			trace = append(trace, (skewed.Uint64()+i/uint64(50*n)*uint64(n))%uint64(10*n))
		}
	}
	return trace
}

// loopTrace has loops of several lengths, and between them keys by a Zipf
// distribution.
func loopTrace(n int) (trace []uint64) {
	skewed := rand.NewZipf(rand.New(rand.NewPCG(3, 4)), 1.01, 10, uint64(10*n))
	for _, percent := range []int{102, 105, 110, 150} {
		length := uint64(n * percent / 100)
		for i := range uint64(30 * n) {
			trace = append(trace, 1<<32+i%length)
		}
		for range 20 * n {
			trace = append(trace, skewed.Uint64())
		}
	}
	return trace
}

// adaptiveHits returns the hit ratio of an Adaptive, in percent.
func adaptiveHits(slots int, trace []uint64) float64 {
	var a Adaptive
	a.Resize(slots)
	slotOf, keys, hits := map[uint64]uint32{}, make([]uint64, 0, slots), 0
	for _, key := range trace {
		i, ok := slotOf[key]
		if ok {
			hits++
			a.Mark(i)
			continue
		}
		if len(keys) == slots {
			for i, _ = a.Victim(); a.Spare(i, hashOf(keys[i])); {
				i, _ = a.Victim()
			}
			a.Evict(i, hashOf(keys[i]))
			delete(slotOf, keys[i])
		} else {
			i = uint32(len(keys))
			keys = append(keys, 0)
		}
		a.Insert(i, hashOf(key))
		keys[i], slotOf[key] = key, i
	}
	return 100 * float64(hits) / float64(len(trace))
}
