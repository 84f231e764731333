package suites

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// A report is what go test -json printed about one package.
type report struct {
	ended  map[string]string // how each test ended: pass, fail or skip
	output map[string]string // of each test; that of the package is under ""
	time   float64           // in seconds
}

// newReport reads the output of go test -json.
func newReport(out []byte, stderr string) (report, error) {
	r := report{ended: map[string]string{}, output: map[string]string{"": stderr}}
	for lines := json.NewDecoder(bytes.NewReader(out)); ; {
		var event struct {
			Action, Test, Output string
			Elapsed              float64
		}
		if err := lines.Decode(&event); errors.Is(err, io.EOF) {
			return r, nil
		} else if err != nil {
			return r, fmt.Errorf("go test -json: %w\n%s%s", err, out, stderr)
		}
		switch event.Action {
		case "output", "build-output":
			r.output[event.Test] += event.Output
		case "run":
			r.ended[event.Test] = ""
		case "pass", "fail", "skip":
			r.ended[event.Test] = event.Action
			if event.Test == "" {
				r.time = event.Elapsed
			}
		}
	}
}

// judge returns where the tests with the given names did not end as expected.
func (r report) judge(tests []string, expected expectations) (complaints []string) {
	complain := func(name, format string, args ...any) {
		complaints = append(complaints, fmt.Sprintf(format, args...)+"\n"+r.output[name])
	}
	if r.ended[""] != "pass" && !r.failsBelow("") {
		complain("", "the package failed, and no test")
	}
	lost := slices.DeleteFunc(slices.Clone(tests), func(name string) bool { return r.ended[name] != "" })
	if len(lost) > 0 {
		complain("", "not run to the end: %s", strings.Join(lost, " "))
	}
	for _, name := range expected.names(fails) {
		if how := r.ended[name]; how != "fail" && (how != "" || len(lost) == 0) {
			complain(name, "%s is listed as one that fails, but: %q. Take it off the list, or correct the name", name, how)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.ended)) {
		if r.ended[name] == "fail" && name != "" && expected[name] != fails && !r.failsBelow(name) {
			complain(name, "%s failed", name)
		}
		if strings.Contains(r.output[name], "DATA RACE") {
			complain(name, "%s has a data race", name)
		}
	}
	return complaints
}

// failsBelow reports whether a subtest of the test failed, or any test if name is empty.
func (r report) failsBelow(name string) bool {
	for other, how := range r.ended {
		if how == "fail" && other != "" && (name == "" || strings.HasPrefix(other, name+"/")) {
			return true
		}
	}
	return false
}

// summary counts the tests, without their subtests.
func (r report) summary() string {
	count := map[string]int{}
	for name, how := range r.ended {
		if name != "" && !strings.Contains(name, "/") {
			count[how]++
		}
	}
	return fmt.Sprintf("%d tests pass, %d fail, %d skip: %.1f s", count["pass"], count["fail"], count["skip"], r.time)
}
