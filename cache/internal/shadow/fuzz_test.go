package shadow

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func FuzzCaches(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		name := rapid.SampledFrom(slices.Sorted(maps.Keys(spreads))).Draw(t, "spread")
		runModel(t, spreads[name])
	}))
}
