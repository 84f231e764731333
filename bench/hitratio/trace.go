package main

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/pinwheel-cache/pinwheel/bench/load"
)

// A trace is a sequence of keys, and the capacities to try, by their names.
type trace struct {
	name       string
	keys       []uint64
	sizes      []uint32 // of the keys' values, in bytes; nil if capacities are in entries
	capacities []capacity
}

// A capacity is a limit in entries or, if bytes is not 0, in bytes, with room for about as
// many entries.
type capacity struct {
	name    string
	entries int
	bytes   int64
}

// size returns the size of the value of access i, or 1.
func (t *trace) size(i int) uint32 {
	if t.sizes == nil {
		return 1
	}
	return t.sizes[i]
}

// read reads a trace, for 1, 5, 10 and 25 % of its distinct keys.
func read(file string) (trace, error) {
	f, err := os.Open(file)
	if err != nil {
		return trace{}, err
	}
	defer f.Close()
	z, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		return trace{}, fmt.Errorf("%s: %w", file, err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		return trace{}, fmt.Errorf("%s: %w", file, err)
	}
	t := trace{name: strings.TrimSuffix(filepath.Base(file), ".u64.gz")}
	distinct := map[uint64]struct{}{}
	for ; len(b) >= 8; b = b[8:] {
		key := mix(binary.LittleEndian.Uint64(b))
		t.keys = append(t.keys, key)
		distinct[key] = struct{}{}
	}
	for _, percent := range []int{1, 5, 10, 25} {
		t.capacities = append(t.capacities, capacity{name: fmt.Sprintf("%d %%", percent), entries: len(distinct) * percent / 100})
	}
	return t, nil
}

// mix spreads dense keys: some caches hash integers badly.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

const madeCapacity = 1000

// made returns synthetic traces, always the same.
func made() []trace {
	const n = 300 * madeCapacity
	var all []trace
	add := func(name string, key func(i uint64) uint64) {
		t := trace{name: name, capacities: []capacity{{name: "1000", entries: madeCapacity}}}
		for i := range uint64(n) {
			t.keys = append(t.keys, mix(key(i)))
		}
		all = append(all, t)
	}
	for _, percent := range []uint64{105, 150, 200} {
		add(fmt.Sprintf("loop of %d %%", percent), func(i uint64) uint64 { return i % (madeCapacity * percent / 100) })
	}
	skewed := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.01, 10, 20*madeCapacity)
	add("skew", func(uint64) uint64 { return skewed.Uint64() })
	add("skew that shifts", func(i uint64) uint64 {
		return (skewed.Uint64() + i/(20*madeCapacity)*7919) % (20 * madeCapacity)
	})
	r := rand.New(rand.NewPCG(3, 4))
	add("skew, 30 % come once", func(i uint64) uint64 {
		if r.IntN(10) < 3 {
			return 1<<32 + i
		}
		return skewed.Uint64()
	})
	add("skew and loops by turns", func(i uint64) uint64 {
		if i/(20*madeCapacity)%2 == 1 {
			return 1<<32 + i%(madeCapacity*3/2)
		}
		return skewed.Uint64()
	})
	for _, exponent := range []float64{1.1, 0.9, 0.7} {
		hot := load.Ranks(rand.New(rand.NewPCG(5, 6)), exponent, 20*madeCapacity)
		add(fmt.Sprintf("skew of %.1f that drifts", exponent), func(i uint64) uint64 { return hot() + i/40 })
	}
	return all
}
