package main

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/bench/libs"
)

func TestExpiry(t *testing.T) {
	e := newExpiry(true)
	e.start = time.Now()
	for i := range e.n {
		if alive := e.alive(e.due(i)); math.Abs(alive-float64(e.n-i)) > 1 {
			t.Fatalf("%v alive when entry %d is due, want %d", alive, i, e.n-i)
		}
	}
}

func TestMeasure(t *testing.T) {
	const length = 64 * batchSize
	for _, threads := range []int{1, 2, 16} {
		ns, found := measure(threads, 5*time.Millisecond, length, length/2, func(at int) int {
			if at%batchSize != 0 || at+batchSize > length {
				t.Errorf("a batch at %d of %d", at, length)
			}
			return 1
		})
		if ns <= 0 || found < threads {
			t.Errorf("%d threads: %v ns per operation, %d found", threads, ns, found)
		}
	}
}

// TestCasesDiffer checks that no two cases share a name, which identifies their samples.
func TestCasesDiffer(t *testing.T) {
	s := parse(nil)
	var names []string
	for _, g := range groups {
		for _, j := range s.jobs(g) {
			names = append(names, j.name)
		}
	}
	for _, c := range specials {
		names = append(names, c.name)
	}
	slices.Sort(names)
	if len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("two cases have the same name: %q", names)
	}
}

// TestGroups runs every operation of every group, for a moment.
func TestGroups(t *testing.T) {
	s := parse([]string{"-short", "-lib", "pinwheel|null|map", "-case", "16|100k"})
	for _, g := range groups {
		g.capacity /= 10 // quick with the race detector too; and 100k is 1M
		p, err := runGroup(g, s)
		if err != nil {
			t.Error(err)
		}
		for _, j := range s.jobs(g) {
			if p.Find(j.name, "pinwheel", "ns/op") == nil {
				t.Errorf("%s was not measured", j.name)
			}
		}
	}
}

func TestForgetfulLibraryIsAnError(t *testing.T) {
	defer func(all []libs.Library) { libs.All = all }(libs.All)
	null := libs.All[len(libs.All)-1]
	null.Name = "forgetful"
	libs.All = []libs.Library{null}
	if _, err := runGroup(groups[0], parse([]string{"-short"})); err == nil {
		t.Error("a library that finds nothing is measured all the same")
	}
}

func TestCommand(t *testing.T) {
	if got, want := command([]string{"-lib", "otter$|null", "-short"}), "go run . -lib 'otter$|null' -short"; got != want {
		t.Errorf("the command is %s, want %s", got, want)
	}
}
