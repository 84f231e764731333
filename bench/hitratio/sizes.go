package main

import "math"

// Sizes of values have a lognormal distribution, like those of objects in web caches: most
// are small, and few are large.
const (
	medianSize = 4 << 10
	sizeSpread = 1.5 // standard deviation of the logarithm
	largest    = 1 << 20
)

// sized returns a trace with a size for each key, always the same. Its capacities are
// parts of the bytes of all distinct keys.
func sized(t trace) trace {
	with := trace{name: t.name, keys: t.keys}
	total, of := int64(0), map[uint64]uint32{}
	for _, key := range t.keys {
		size, seen := of[key]
		if !seen {
			size = sizeByHash(key)
			of[key] = size
			total += int64(size)
		}
		with.sizes = append(with.sizes, size)
	}
	for _, c := range t.capacities {
		c.bytes = total * int64(c.entries) / int64(len(of))
		with.capacities = append(with.capacities, c)
	}
	return with
}

// sizeByHash returns the size of a key's value, in bytes.
func sizeByHash(key uint64) uint32 {
	const seed = 0x5851F42D4C957F2D
	even := (float64(mix(key^seed)>>11) + 0.5) / (1 << 53)
	normal := math.Sqrt2 * math.Erfinv(2*even-1)
	return uint32(min(medianSize*math.Exp(sizeSpread*normal), largest)) + 1
}
