package load

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Exponent is the exponent of the Zipf distribution of the cases, as in YCSB. Package
// math/rand requires one above 1.
const Exponent = 0.99

// Zipf returns n indices below keys. The index of rank r has a probability in proportion to
// 1/r^Exponent. Ranks are assigned at random.
func Zipf(r *rand.Rand, keys, n int) []uint32 {
	indices := r.Perm(keys)
	cdf := distribution(keys)
	drawn := make([]uint32, n)
	for i := range drawn {
		rank, _ := slices.BinarySearch(cdf, r.Float64())
		drawn[i] = uint32(indices[min(rank, keys-1)])
	}
	return drawn
}

// distribution returns, for every rank, the probability of that or a lower one.
func distribution(keys int) []float64 {
	cdf := make([]float64, keys)
	sum := 0.0
	for i := range cdf {
		sum += math.Pow(float64(i+1), -Exponent)
		cdf[i] = sum
	}
	for i := range cdf {
		cdf[i] /= sum
	}
	return cdf
}

// Uniform returns n indices below keys, all with the same probability.
func Uniform(r *rand.Rand, keys, n int) []uint32 {
	drawn := make([]uint32, n)
	for i := range drawn {
		drawn[i] = uint32(r.IntN(keys))
	}
	return drawn
}
