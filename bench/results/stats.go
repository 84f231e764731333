package results

import (
	"math"
	"slices"
)

// Median returns the middle value, or the mean of the two in the middle.
func Median(values []float64) float64 { return quantile(values, 0.5) }

// Spread returns half the distance between the quartiles, as a fraction of the
// median.
func Spread(values []float64) float64 {
	m := Median(values)
	if m == 0 {
		return 0
	}
	return (quantile(values, 0.75) - quantile(values, 0.25)) / 2 / math.Abs(m)
}

// quantile interpolates between the values next to the place it looks for.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	place := q * float64(len(sorted)-1)
	below := int(place)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (place-float64(below))*(sorted[above]-sorted[below])
}

// ratios divides round by round.
func ratios(a, b []float64) []float64 {
	var r []float64
	for i := range min(len(a), len(b)) {
		if b[i] != 0 {
			r = append(r, a[i]/b[i])
		}
	}
	return r
}
