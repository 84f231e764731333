package main

import (
	"fmt"
	"strings"

	"github.com/pinwheel-cache/pinwheel/bench/libs"
	"github.com/pinwheel-cache/pinwheel/bench/load"
)

// A group is a set of cases that share their caches. A case is an operation with a number of
// threads.
type group struct {
	keys     string // uint64 or string
	capacity int
	content  content
	ops      []string // see workload.operation
	threads  []int    // above the number of processors: goroutines that share all of them
}

// A content says which keys the caches of a group hold and the cases use.
type content uint8

const (
	// zipf is keys by a Zipf distribution over twice the capacity.
	zipf content = iota

	// live is as many keys as the capacity says, all of the same probability, in
	// caches with room for twice as many: nothing is ever evicted.
	live

	// full is as many keys as the capacity, which others evict.
	full
)

var groups = []group{
	{"uint64", 100_000, zipf, []string{"reads100", "hot", "reads95", "reads75", "reads50", "reads0"}, []int{1, 2, 16}},
	{"uint64", 100_000, live, []string{"refresh-same", "refresh-random", "touch"}, []int{1, 2, 16}},
	{"uint64", 1_000_000, zipf, []string{"reads100", "reads75", "reads0"}, []int{2}},
	{"string", 100_000, live, []string{"take-hit"}, []int{1, 2, 16}},
	{"string", 100_000, full, []string{"take-miss"}, []int{1, 2, 16}},
}

// A special is a case with figures of its own. Each library runs it in a separate process.
type special struct {
	name   string
	rounds int // at most: some take long, or vary little
	run    func(l libs.Library, short bool) ([]figure, error)
}

// A figure is one result of a special case.
type figure struct {
	metric string
	value  float64
}

var specials = []special{
	{"memory/uint64", 3, on(byUint64, runMemory)},
	{"memory/string", 3, on(byString, runMemory)},
	{"expiry/string", 2, on(byString, runExpiry)},
}

// takes reports whether the operations of the group load what is missing.
func (g group) takes() bool { return strings.HasPrefix(g.ops[0], "take-") }

// caseName returns the name of a case of the group.
func (g group) caseName(op string, threads int) string {
	unit := "threads"
	switch threads {
	case 1:
		unit = "thread"
	case 16:
		unit = "goroutines"
	}
	return fmt.Sprintf("%s/%s/ttl/%s/%d %s", g.keys, count(g.capacity), op, threads, unit)
}

// count writes a number with k or M.
func count(n int) string {
	if n >= 1_000_000 {
		return fmt.Sprintf("%dM", n/1_000_000)
	}
	return fmt.Sprintf("%dk", n/1000)
}

// A kind is a type of key, and how to make caches and entries with it.
type kind[K libs.Key, V any] struct {
	new     func(libs.Library) libs.New[K, V]
	entries func(first, n int) load.Entries[K, V]
}

var (
	byUint64 = kind[uint64, uint64]{func(l libs.Library) libs.New[uint64, uint64] { return l.Uint64 }, load.Uint64s}
	byString = kind[string, *uint64]{func(l libs.Library) libs.New[string, *uint64] { return l.String }, load.Strings}
)

// on returns the run of a special case with a kind of keys.
func on[K libs.Key, V any](k kind[K, V], run func(libs.Library, kind[K, V], bool) ([]figure, error)) func(libs.Library, bool) ([]figure, error) {
	return func(l libs.Library, short bool) ([]figure, error) { return run(l, k, short) }
}

// million is how many entries the special cases have.
func million(short bool) int {
	if short {
		return 20_000
	}
	return 1_000_000
}
