package lincheck

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"
)

var (
	runFor  = flag.Duration("lincheck.for", 0, "how long to check histories of the cache, in all; 0 for a fixed number of them")
	seedOpt = flag.Uint64("lincheck.seed", 0, "the seed of the operations; 0 for a new one")
)

func seed() uint64 {
	if *seedOpt != 0 {
		return *seedOpt
	}
	return rand.Uint64()
}

// first returns a function for Run that ends it after n histories.
func first(n int) func(int) bool { return func(number int) bool { return number < n } }

// until returns a function for Run that ends it after a time.
func until(d time.Duration) func(int) bool {
	end := time.Now().Add(d)
	return func(int) bool { return time.Now().Before(end) }
}

// report fails the test with a wrong history, and says where its page is.
func report(t *testing.T, r Report, wrong *Violation) {
	t.Helper()
	t.Logf("%d histories of %d operations in all; %d took too long to check", r.Histories, r.Operations, r.Undecided)
	if wrong == nil {
		return
	}
	path, err := wrong.WriteTemp()
	if err != nil {
		t.Errorf("the history cannot be written: %v", err)
	}
	t.Fatalf("%v\nshown in %s; -lincheck.seed %d does the same operations again", wrong, path, wrong.Seed)
}

// The workloads, by how entries may leave by themselves.
var (
	lasting  = Workload{Keys: 3}
	crowded  = Workload{Keys: 5}
	mortal   = Workload{Keys: 2, Nap: 400 * time.Microsecond, TTLs: []time.Duration{-1, 0, time.Nanosecond, 200 * time.Microsecond, time.Millisecond, 2 * time.Millisecond, time.Hour}}
	fullDead = Workload{Keys: 4, Nap: mortal.Nap, TTLs: mortal.TTLs}
)
