package load

import (
	"math"
	"math/rand/v2"
	"sort"
)

// Exponent is the exponent of the Zipf distribution of the cases, as in YCSB. Package
// math/rand requires one above 1.
const Exponent = 0.99

// Zipf returns n indices below keys. The index of rank r has a probability in proportion to
// 1/r^Exponent. Ranks are assigned at random.
func Zipf(r *rand.Rand, keys, n int) []uint32 {
	indices := r.Perm(keys)
	rank := Ranks(r, Exponent, keys)
	drawn := make([]uint32, n)
	for i := range drawn {
		drawn[i] = uint32(indices[rank()])
	}
	return drawn
}

// Ranks returns a source of ranks below n: that of rank k is in proportion to 1/(k+1)^exponent. That
// of math/rand/v2 takes no exponent below 1.
func Ranks(r *rand.Rand, exponent float64, n int) func() uint64 {
	sums := make([]float64, n)
	sum := 0.0
	for k := range sums {
		sum += math.Pow(float64(k+1), -exponent)
		sums[k] = sum
	}
	return func() uint64 { return uint64(sort.SearchFloat64s(sums, r.Float64()*sum)) }
}

// Uniform returns n indices below keys, all with the same probability.
func Uniform(r *rand.Rand, keys, n int) []uint32 {
	drawn := make([]uint32, n)
	for i := range drawn {
		drawn[i] = uint32(r.IntN(keys))
	}
	return drawn
}
