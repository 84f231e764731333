package hash

import (
	"math"
	"testing"
)

// TestSpread puts integers that are anything but random into buckets by every eight
// bits of their hash. They must spread as random ones do: chi-squared within eight
// standard deviations.
func TestSpread(t *testing.T) {
	const n = 1 << 16
	for name, key := range map[string]func(i uint64) uint64{
		"in order":             func(i uint64) uint64 { return i },
		"backwards":            func(i uint64) uint64 { return -i },
		"even":                 func(i uint64) uint64 { return i * 2 },
		"pages":                func(i uint64) uint64 { return i << 12 },
		"the upper half":       func(i uint64) uint64 { return i << 32 },
		"the highest bits":     func(i uint64) uint64 { return i << 48 },
		"both halves the same": func(i uint64) uint64 { return i<<32 | i },
		"halves that cancel":   func(i uint64) uint64 { return i<<32 | -i&math.MaxUint32 },
		"thousands":            func(i uint64) uint64 { return i * 1000 },
		"floating-point":       func(i uint64) uint64 { return math.Float64bits(float64(i)) },
		"every fourth bit":     everyFourthBit,
	} {
		h := New[uint64]()
		for shift := range 57 {
			var buckets [256]int
			for i := range uint64(n) {
				buckets[h.Hash(key(i))>>shift&0xff]++
			}
			chi := 0.0
			for _, got := range buckets {
				d := float64(got) - n/256.0
				chi += d * d / (n / 256.0)
			}
			if sigma := (chi - 255) / math.Sqrt(2*255); sigma > 8 {
				t.Errorf("%s: bits %d to %d of the hash are %.0f standard deviations from even", name, shift, shift+7, sigma)
				break
			}
		}
	}
}

// everyFourthBit has bit k of i as bit 4k.
func everyFourthBit(i uint64) (x uint64) {
	for k := range 16 {
		x |= i >> k & 1 << (4 * k)
	}
	return x
}

// TestNoCollisions: integers that differ have hashes that differ. A million or so
// pairs of random hashes would all differ too.
func TestNoCollisions(t *testing.T) {
	h := New[uint64]()
	seen := map[uint64]uint64{}
	for i := range uint64(1 << 16) {
		for _, key := range []uint64{i, i << 20, i << 40, ^i} {
			hash := h.Hash(key)
			if other, ok := seen[hash]; ok && other != key {
				t.Fatalf("%d and %d have the hash %#x", key, other, hash)
			}
			seen[hash] = key
		}
	}
}
