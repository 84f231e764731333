package main

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/proof/lincheck"
)

// first returns the function that lets a run make n histories.
func first(n int) func(int) bool { return func(number int) bool { return number < n } }

// named returns the scenario of that name.
func named(t *testing.T, name string) scenario {
	t.Helper()
	for _, sc := range scenarios {
		if sc.name == name {
			return sc
		}
	}
	t.Fatalf("there is no scenario %q", name)
	return scenario{}
}

// TestControl finds no fault in the cache of this module, in any scenario.
//
// Catches: a model or an adapter that is too strict, and would blame others wrongly.
func TestControl(t *testing.T) {
	for _, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) {
			seed := rand.Uint64()
			r := sc.run(contenders[0], seed, first(40))
			if r.contender != "pinwheel" || r.Survey == nil || r.Histories != 40 {
				t.Fatalf("not checked: %+v", r)
			}
			for _, f := range r.Found {
				t.Errorf("seed %d: %v\n%v", seed, f.Fault, f.Example)
			}
		})
	}
}

// TestNaive finds the faults of the naive map, each by its right name.
//
// Catches: a harness that finds nothing, or takes one fault for another.
func TestNaive(t *testing.T) {
	for _, c := range []struct {
		scenario string
		want     lincheck.Faults
	}{
		{"Take", lincheck.LoadUndoesDel},
		{"Take", lincheck.LoadUndoesSet},
		{"Take", lincheck.LoadsTwice},
		{"GetOrSet, Compute", lincheck.Splits},
		{"TTL", lincheck.Overstays},
	} {
		t.Run(c.scenario+", "+c.want.String(), func(t *testing.T) {
			sc := named(t, c.scenario)
			s, end := sc.subject(contenders[1])
			defer end()
			survey := &lincheck.Survey{Promises: sc.promises(contenders[1])}
			found := func() bool {
				for _, f := range survey.Found {
					if f.Fault == c.want {
						return true
					}
				}
				return false
			}
			survey.Run(s, sc.work, rand.Uint64(), func(n int) bool { return n < 5000 && !found() })
			if !found() {
				t.Errorf("not found in %d histories; found were %v", survey.Histories, survey.Found)
			}
		})
	}
}

// TestAll runs every cache in every scenario for a moment, and writes the table. It does not
// check which faults were found, as that depends on chance.
//
// Catches: an adapter that panics or deadlocks, or lacks an operation, so that its cache is
// missing from a scenario.
func TestAll(t *testing.T) {
	var all []result
	for _, sc := range scenarios {
		for _, c := range contenders {
			c.expiry = nil // it takes a quarter of a minute
			if c.name == "go-zero" && sc.ttl > 0 {
				all = append(all, result{contender: c.name, scenario: sc.name})
				continue
			}
			all = append(all, sc.run(c, 1, first(3)))
		}
	}
	var page bytes.Buffer
	if err := table(&page, settings{only: regexp.MustCompile("")}, all); err != nil {
		t.Fatal(err)
	}
	absent := map[string]int{
		"pinwheel": 0, "naive map": 3, "go-zero": 5, "otter": 0, "sturdyc": 2, "theine": 3, "ttlcache": 1, "ristretto": 4, "ristretto, Wait": 4,
		"golang-lru": 4, "golang-lru, expirable": 3,
	}
	for _, c := range contenders {
		_, row, ok := strings.Cut(page.String(), "| "+c.name+" |")
		row, _, _ = strings.Cut(row, "\n")
		if got := strings.Count(row, " – "); !ok || got != absent[c.name] {
			t.Errorf("%s is absent from %d scenarios, want %d: %s", c.name, got, absent[c.name], row)
		}
	}
}

// TestConform uses each cache from one goroutine and compares it with a map.
//
// Catches: an adapter that uses its cache wrongly, or returns other answers than the cache.
func TestConform(t *testing.T) {
	for _, c := range contenders {
		for _, config := range []config{{limit: roomy}, {limit: roomy, loads: true}, {limit: roomy, ttl: time.Hour}} {
			t.Run(c.name, func(t *testing.T) {
				s, end := c.open(config)
				if s == nil {
					t.Logf("cannot be made with %+v", config)
					return
				}
				defer end()
				w := &walk{t: t, s: s, has: make(map[int]int64), rand: rand.New(rand.NewPCG(1, 2))}
				for range 2000 {
					w.step()
				}
			})
		}
	}
}
