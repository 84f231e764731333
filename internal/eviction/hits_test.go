package eviction

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
		{"loops just longer than the order, and skew by turns", loopTrace(slots), 66.60},
		{"skew that drifts", driftingTrace(slots), 52.28},
	} {
		if got := newTestCache(slots).hits(test.trace, slots, one); math.Abs(got-test.want) > 0.3 {
			t.Errorf("%s: %.2f %% hits, want %.2f", test.name, got, test.want)
		}
	}
}

// TestAdaptiveHitsWithWeights replays keys by a Zipf distribution, and among them some that
// come once and weigh a twentieth of all. Light keys have to stay.
func TestAdaptiveHitsWithWeights(t *testing.T) {
	const limit, once = 1_000_000, 1 << 32
	r := rand.New(rand.NewPCG(5, 6))
	skewed := rand.NewZipf(r, 1.01, 10, 10_000)
	weigh := func(key uint64) uint32 {
		if key >= once {
			return limit / 20
		}
		return 1 << (hashOf(key) % 12)
	}
	var trace []uint64
	for i := range uint64(200_000) {
		key := skewed.Uint64()
		if r.IntN(20) == 0 {
			key = once + i
		}
		trace = append(trace, key)
	}
	c := newTestCache(10_000)
	c.Weigh(c.weights)
	const want = 75.06
	if got := c.hits(trace, limit, weigh); math.Abs(got-want) > 0.3 {
		t.Errorf("%.2f %% hits, want %.2f", got, want)
	}
}

func one(uint64) uint32 { return 1 }

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

// driftingTrace has keys by a Zipf distribution that slides on by one key every 40 accesses, so
// that hot keys die slowly.
func driftingTrace(n int) (trace []uint64) {
	skewed := rand.NewZipf(rand.New(rand.NewPCG(7, 8)), 1.01, 10, uint64(20*n))
	for i := range uint64(400 * n) {
		trace = append(trace, skewed.Uint64()+i/40)
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

// A testCache is an Adaptive with the keys of its entries.
type testCache struct {
	Adaptive
	slotOf  map[uint64]uint32
	keys    []uint64
	free    []uint32
	weights []uint32
	used    uint32 // weight
}

func newTestCache(slots int) *testCache {
	c := &testCache{slotOf: map[uint64]uint32{}, keys: make([]uint64, slots), weights: make([]uint32, slots)}
	c.Resize(slots)
	for i := range slots {
		c.free = append(c.free, uint32(i))
	}
	return c
}

// hits returns the hit ratio of a trace, in percent, with a limit of the weight.
func (c *testCache) hits(trace []uint64, limit uint32, weigh func(key uint64) uint32) float64 {
	hits := 0
	for _, key := range trace {
		if i, ok := c.slotOf[key]; ok {
			hits++
			c.Mark(i)
			continue
		}
		weight := weigh(key)
		for c.used+weight > limit {
			c.evict()
		}
		i := c.free[len(c.free)-1]
		c.free = c.free[:len(c.free)-1]
		c.keys[i], c.weights[i], c.slotOf[key] = key, weight, i
		c.used += weight
		c.Insert(i, hashOf(key))
	}
	return 100 * float64(hits) / float64(len(trace))
}

func (c *testCache) evict() {
	i, _ := c.Victim()
	for c.Promote(i, hashOf(c.keys[i])) {
		i, _ = c.Victim()
	}
	c.Remove(i)
	delete(c.slotOf, c.keys[i])
	c.used -= c.weights[i]
	c.free = append(c.free, i)
}
