package suites

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A verdict is what is expected of a test that does not simply pass.
type verdict string

const (
	fails   verdict = "fail"   // it fails, each time
	omitted verdict = "omit"   // it does not compile with the adapter, or its outcome varies
	slow    verdict = "slow"   // it passes, and runs with -suites.long only
	bubble  verdict = "bubble" // it passes, but not on a busy machine: it runs under testing/synctest
)

// everyTest stands for all tests of a suite; it can only be bubble, also for those that fail.
const everyTest = "*"

// expectations are the tests of a suite that do not simply pass, by name, for subtests as
// go test prints it.
type expectations map[string]verdict

// parseExpectations reads a list. A line has a verdict, the name of a test and the reason,
// separated by spaces; a line that begins with a space continues the reason. Empty lines
// and those that begin with # are ignored.
func parseExpectations(text string) (expectations, error) {
	e := expectations{}
	for number, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#" || strings.HasPrefix(line, " "):
			continue
		case len(words) < 3:
			return nil, fmt.Errorf("line %d: %q: want a verdict, a test and a reason", number+1, line)
		}
		v, name := verdict(words[0]), words[1]
		if !slices.Contains([]verdict{fails, omitted, slow, bubble}, v) {
			return nil, fmt.Errorf("line %d: %q: want fail, omit, slow or bubble", number+1, words[0])
		}
		if name == everyTest && v != bubble {
			return nil, fmt.Errorf("line %d: %q: all tests can only run in a bubble", number+1, line)
		}
		if v != fails && strings.Contains(name, "/") {
			return nil, fmt.Errorf("line %d: %q: a subtest can only fail", number+1, name)
		}
		if e[name] != "" {
			return nil, fmt.Errorf("line %d: %s is listed twice", number+1, name)
		}
		e[name] = v
	}
	return e, nil
}

// names returns the tests with a verdict, sorted.
func (e expectations) names(v verdict) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(e)), func(name string) bool { return e[name] != v })
}

// known returns an error if the list names a function that the suite does not have.
func (e expectations) known(functions []string) error {
	for _, name := range slices.Sorted(maps.Keys(e)) {
		if e[name] != fails && name != everyTest && !slices.Contains(functions, name) {
			return fmt.Errorf("no test of the suite is called %s: take it off the list", name)
		}
	}
	return nil
}
