package ghost

import (
	"flag"
	"math"
	"math/rand/v2"
	"sync"
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

// TestSampleOfSmallLimits: it has all keys.
func TestSampleOfSmallLimits(t *testing.T) {
	last := inverse() * math.MaxUint64 // mixed, it is the greatest
	for _, limit := range []int{1, 2, 100, sampleSize - 1, sampleSize} {
		g := New(limit, byUse, byUse)
		for _, h := range []uint64{0, 1, math.MaxUint64, last, last - 1} {
			if !g.Sees(h) {
				t.Errorf("limit %d: %#x is not in the sample", limit, h)
			}
		}
		if n := len(g.ghosts[same].entries); n != limit {
			t.Errorf("limit %d: a ghost of %d entries", limit, n)
		}
	}
}

// TestSampleOfGreatLimits: it has as great a part of the keys as the ghosts have of the
// entries.
func TestSampleOfGreatLimits(t *testing.T) {
	for _, limit := range []int{sampleSize + 1, 3000, 20_000, 1_000_000} {
		g := New(limit, byUse, byUse)
		r := rand.New(rand.NewPCG(1, uint64(limit)))
		const n = 1 << 19
		seen := 0
		for range n {
			if g.Sees(r.Uint64()) {
				seen++
			}
		}
		want := n * sampleSize / float64(limit)
		if off := math.Abs(float64(seen) - want); off > 6*math.Sqrt(want)+1 {
			t.Errorf("limit %d: %d of %d keys in the sample, want about %.0f", limit, seen, n, want)
		}
		if len(g.ghosts[half].entries) != sampleSize/2 || len(g.ghosts[same].entries) != sampleSize || len(g.ghosts[double].entries) != 2*sampleSize {
			t.Errorf("limit %d: ghosts of %d, %d and %d entries", limit, len(g.ghosts[half].entries), len(g.ghosts[same].entries), len(g.ghosts[double].entries))
		}
	}
}

// TestSampleOfTheGreatestLimit: some keys are in it.
func TestSampleOfTheGreatestLimit(t *testing.T) {
	g := New(math.MaxInt32, byUse, byUse)
	if got := g.threshold.Load(); got != 2048 {
		t.Errorf("%d of 2³² keys in the sample, want 2048", got)
	}
	h := inverse() * (1 << 32) // mixed, it is 1
	if !g.Sees(h) {
		t.Error("a key that should be in the sample is not")
	}
	for range 10 {
		g.Get(h, 0)
	}
	if got := g.Counts().Gets; got != 10*math.MaxInt32/sampleSize {
		t.Errorf("10 gets in the sample count for %d", got)
	}
}

// TestSampleIsIndependent of the bits of a hash by which the cache, or the index of a
// ghost, chooses a place: in each place there is the same part of the keys.
func TestSampleIsIndependent(t *testing.T) {
	const limit, places, n = 10 * sampleSize, 64, 1 << 17
	for name, place := range map[string]func(h uint64) uint64{
		"shard":      func(h uint64) uint64 { return h >> 8 },
		"more shard": func(h uint64) uint64 { return h >> 14 },
		"tag":        func(h uint64) uint64 { return h },
		"home":       func(h uint64) uint64 { return h >> 58 },
		"low home":   func(h uint64) uint64 { return h >> 32 },
	} {
		g := New(limit, byUse, byUse)
		r := rand.New(rand.NewPCG(1, 2))
		var keys, seen [places]float64
		for range n {
			h := r.Uint64()
			p := place(h) % places
			keys[p]++
			if g.Sees(h) {
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

// TestWeight: after a Resize a get counts for as many as the sample is smaller then.
func TestWeight(t *testing.T) {
	g := New(sampleSize, byUse, byUse)
	g.Set(0, 100)
	g.Get(0, 0)
	g.Resize(5 * sampleSize / 2)
	g.Set(0, 100)
	g.Get(0, 0)
	g.Get(0, 0)
	if s := g.Counts(); s.Gets != 6 || s.Half != 6 || s.Same != 6 || s.Double != 6 || s.OtherPolicy != 6 {
		t.Errorf("1 get for 1, and 2 for 2.5 each: %+v", s)
	}
}

// TestConcurrentUse: the counts are never out of order, and the ghosts stay whole.
func TestConcurrentUse(t *testing.T) {
	g := New(16, byUse, byUse)
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for seed := range uint64(4) {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, 0))
			for range 20_000 {
				h := r.Uint64N(64) << 40
				switch r.IntN(40) {
				case 0:
					g.Resize(r.IntN(20))
				case 1:
					g.Clear()
				case 2, 3:
					g.Remove(h)
				case 4, 5:
					g.Touch(h, 1<<40)
				case 6, 7, 8, 9:
					g.Set(h, 1<<40)
				default:
					if g.Sees(h) && !g.Get(h, 0) {
						g.Fill(h, 0, 1<<40)
					}
				}
			}
		})
	}
	var poll sync.WaitGroup
	poll.Go(func() {
		for {
			if s := g.Counts(); max(s.Half, s.Same, s.Double, s.OtherPolicy) > s.Gets {
				t.Errorf("more hits than gets: %+v", s)
				return
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	wg.Wait()
	close(stop)
	poll.Wait()
	for i := range g.ghosts {
		ghost := &g.ghosts[i]
		want := naive{limit: len(ghost.entries), hits: ghost.hits.Load() / sampleSize}
		for i := range ghost.order.All() {
			want.entries = append(want.entries, naiveEntry{entry: ghost.entries[i]})
		}
		if err := ghost.check(&want); err != nil {
			t.Error(err)
		}
	}
}

// byUse makes the orders of most tests.
func byUse() eviction.Policy { return new(eviction.Order) }
