package shadow

import (
	"flag"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pinwheel-cache/pinwheel/internal/eviction"
	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

func TestMain(m *testing.M) {
	if err := flag.Set("rapid.steps", "100"); err != nil {
		panic(err)
	}
	settle.VerifyTestMain(m)
}

// inverse is what golden is multiplied by to give 1, modulo 2⁶⁴.
func inverse() uint64 {
	x := uint64(golden)
	for range 6 { // Newton's method: each step doubles the bits that are right
		x *= 2 - golden*x
	}
	return x
}

// TestSampleOfSmallLimits: with a small limit all keys are in the sample.
func TestSampleOfSmallLimits(t *testing.T) {
	last := inverse() * math.MaxUint64 // mixed, it is the greatest
	for _, limit := range []int{1, 2, 100, sampleSize - 1, sampleSize} {
		c := New(limit, byUse, byUse)
		for _, h := range []uint64{0, 1, math.MaxUint64, last, last - 1} {
			if !c.Sees(h) {
				t.Errorf("limit %d: %#x is not in the sample", limit, h)
			}
		}
		if n := len(c.caches[same].entries); n != limit {
			t.Errorf("limit %d: a shadow of %d entries", limit, n)
		}
	}
}

// TestSampleOfGreatLimits: the sample has the same share of the keys as the shadow with the same
// limit has of the entries.
func TestSampleOfGreatLimits(t *testing.T) {
	for _, limit := range []int{sampleSize + 1, 3000, 20_000, 1_000_000} {
		c := New(limit, byUse, byUse)
		r := rand.New(rand.NewPCG(1, uint64(limit)))
		const n = 1 << 19
		seen := 0
		for range n {
			if c.Sees(r.Uint64()) {
				seen++
			}
		}
		want := n * sampleSize / float64(limit)
		if off := math.Abs(float64(seen) - want); off > 6*math.Sqrt(want)+1 {
			t.Errorf("limit %d: %d of %d keys in the sample, want about %.0f", limit, seen, n, want)
		}
		if len(c.caches[half].entries) != sampleSize/2 || len(c.caches[same].entries) != sampleSize || len(c.caches[double].entries) != 2*sampleSize {
			t.Errorf("limit %d: shadows of %d, %d and %d entries", limit, len(c.caches[half].entries), len(c.caches[same].entries), len(c.caches[double].entries))
		}
	}
}

// TestSampleOfTheGreatestLimit: the sample is not empty.
func TestSampleOfTheGreatestLimit(t *testing.T) {
	c := New(math.MaxInt32, byUse, byUse)
	if got := c.threshold.Load(); got != 2048 {
		t.Errorf("%d of 2³² keys in the sample, want 2048", got)
	}
	h := inverse() * (1 << 32) // mixed, it is 1
	if !c.Sees(h) {
		t.Error("a key that should be in the sample is not")
	}
	for range 10 {
		c.Get(h, 0)
	}
	if got := c.Counts().Gets; got != 10*math.MaxInt32/sampleSize {
		t.Errorf("10 gets in the sample count for %d", got)
	}
}

// TestSampleIsIndependent of the bits of a hash by which the cache, or the index of a
// shadow, chooses a place: in each place there is the same part of the keys.
func TestSampleIsIndependent(t *testing.T) {
	const limit, places, n = 10 * sampleSize, 64, 1 << 17
	for name, place := range map[string]func(h uint64) uint64{
		"shard":      func(h uint64) uint64 { return h >> 8 },
		"more shard": func(h uint64) uint64 { return h >> 14 },
		"tag":        func(h uint64) uint64 { return h },
		"home":       func(h uint64) uint64 { return h >> 58 },
		"low home":   func(h uint64) uint64 { return h >> 32 },
	} {
		c := New(limit, byUse, byUse)
		r := rand.New(rand.NewPCG(1, 2))
		var keys, seen [places]float64
		for range n {
			h := r.Uint64()
			p := place(h) % places
			keys[p]++
			if c.Sees(h) {
				seen[p]++
			}
		}
		for p := range places {
			want := keys[p] / 10
			if off := math.Abs(seen[p] - want); off > 6*math.Sqrt(want) {
				t.Errorf("%s %d: %.0f of %.0f keys in the sample", name, p, seen[p], keys[p])
			}
		}
	}
}

// TestWeight: a get in the sample counts for as many gets as the limit is larger than the sample,
// after a Resize too.
func TestWeight(t *testing.T) {
	c := New(sampleSize, byUse, byUse)
	c.Set(0, 100)
	c.Get(0, 0)
	c.Resize(5 * sampleSize / 2)
	c.Set(0, 100)
	c.Get(0, 0)
	c.Get(0, 0)
	if s := c.Counts(); s.Gets != 6 || s.Half != 6 || s.Same != 6 || s.Double != 6 || s.OtherPolicy != 6 {
		t.Errorf("1 get for 1, and 2 for 2.5 each: %+v", s)
	}
}

// TestConcurrentUse: the counts are never out of order, and the shadows stay whole.
func TestConcurrentUse(t *testing.T) {
	c := New(16, byUse, byUse)
	var wg sync.WaitGroup
	var stop atomic.Bool
	for seed := range uint64(4) {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, 0))
			for range 20_000 {
				h := r.Uint64N(64) << 40
				switch r.IntN(40) {
				case 0:
					c.Resize(r.IntN(20))
				case 1:
					c.Clear()
				case 2, 3:
					c.Remove(h)
				case 4, 5:
					c.Touch(h, 1<<40)
				case 6, 7, 8, 9:
					c.Set(h, 1<<40)
				default:
					if c.Sees(h) && !c.Get(h, 0) {
						c.Fill(h, 0, 1<<40)
					}
				}
			}
		})
	}
	var poll sync.WaitGroup
	poll.Go(func() {
		for !stop.Load() && !t.Failed() {
			if s := c.Counts(); max(s.Half, s.Same, s.Double, s.OtherPolicy) > s.Gets {
				t.Errorf("more hits than gets: %+v", s)
			}
		}
	})
	wg.Wait()
	stop.Store(true)
	poll.Wait()
	for i := range c.caches {
		shadow := &c.caches[i]
		want := naive{limit: len(shadow.entries), hits: shadow.hits.Load() / sampleSize}
		for i := range shadow.order.All() {
			want.entries = append(want.entries, naiveEntry{entry: shadow.entries[i]})
		}
		if err := shadow.check(&want); err != nil {
			t.Error(err)
		}
	}
}

// byUse makes the orders of most tests.
func byUse() eviction.Policy { return new(eviction.Order) }
