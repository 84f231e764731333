package index

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func FuzzIndex(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		name := rapid.SampledFrom(slices.Sorted(maps.Keys(hashes))).Draw(t, "hashes")
		runModel(t, hashes[name])
	}))
}
