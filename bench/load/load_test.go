package load

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestZipf(t *testing.T) {
	const keys, n = 200_000, 1 << 20
	counts := make([]int, keys)
	for _, index := range Zipf(rand.New(rand.NewPCG(1, 2)), keys, n) {
		counts[index]++
	}
	if counts[0] == slices.Max(counts) {
		t.Error("the first key is the most frequent: ranks are not shuffled")
	}
	slices.SortFunc(counts, func(a, b int) int { return b - a })
	zeta := 0.0
	for rank := 1; rank <= keys; rank++ {
		zeta += math.Pow(float64(rank), -0.99)
	}
	for _, rank := range []int{1, 2, 10} {
		want := n * math.Pow(float64(rank), -0.99) / zeta
		if got := float64(counts[rank-1]); math.Abs(got-want) > 5*math.Sqrt(want) {
			t.Errorf("rank %d was drawn %v times, want about %.0f", rank, got, want)
		}
	}
}

func TestMix(t *testing.T) {
	indices := Uniform(rand.New(rand.NewPCG(1, 2)), 1000, 100_000)
	for _, reads := range []float64{0, 0.5, 0.75, 1} {
		writes := 0
		for i, op := range Mix(rand.New(rand.NewPCG(3, 4)), indices, reads) {
			if op.Index() != indices[i] {
				t.Fatalf("operation %d is of key %d, want %d", i, op.Index(), indices[i])
			}
			if op.Write() {
				writes++
			}
		}
		if got := 1 - float64(writes)/float64(len(indices)); math.Abs(got-reads) > 0.01 {
			t.Errorf("%v of the operations are reads, want %v", got, reads)
		}
	}
}
