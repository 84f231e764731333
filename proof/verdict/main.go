// Command verdict says whether a run of tests by gotestsum has passed, in which failed tests
// were run again. It reads the events of go test -json that gotestsum left in files, and prints
// what a person needs:
//
//	SKIPPED  a test that did not run, and why
//	FLAKY    a test that failed and then passed, with what it said when it failed
//	FAILED   a test that failed each time, or had a data race or a panic, which no second
//	         run excuses; or a package that failed without a failed test, as goleak and
//	         os.Exit make it, which gotestsum forgives
//
// The exit status is 1 if something failed, if more than three tests were flaky, or, with
// -noskip, if a test was skipped.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

const (
	mostFlaky = 3  // tests of a run that may be flaky
	mostLines = 60 // that are shown of what a test said; the first ones say what was wrong
)

func main() {
	noskip := flag.Bool("noskip", false, "fail if a test was skipped")
	flag.Parse()
	v := newVerdict()
	for _, name := range flag.Args() {
		if err := v.readFile(name); err != nil {
			fmt.Fprintln(os.Stderr, "verdict:", err)
			os.Exit(2)
		}
	}
	if !v.print(os.Stdout, *noskip) {
		os.Exit(1)
	}
}

// An event is one of go test -json. Output of the compiler has an ImportPath, which
// FailedBuild of the failed package refers to.
type event struct {
	Action, Package, Test, Output, ImportPath, FailedBuild string
}

// A test is a test with its subtests, or a package that failed without one.
type test struct {
	name    string
	running bool
	failed  bool            // the last time
	never   bool            // it failed as no second run excuses
	said    strings.Builder // this time
	fails   int
	first   string // what it said when it first failed, or was skipped
}

// A result is what is known of a package.
type result struct {
	tests  []*test
	failed bool            // a test failed since the package was last started
	alone  bool            // it is among the tests, as it failed without one
	said   strings.Builder // beside its tests, since then
}

type verdict struct {
	packages map[string]*result
	tests    []*test // in the order in which they first ran
	skipped  []*test
	compiler map[string]string // what it said, by ImportPath
}

func newVerdict() *verdict {
	return &verdict{packages: map[string]*result{}, compiler: map[string]string{}}
}

func (v *verdict) readFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	err = v.read(f)
	for _, t := range v.tests { // what the next file says is another step's, and no second run
		t.never = t.never || t.failed
	}
	return err
}

func (v *verdict) read(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return fmt.Errorf("%.100q is not an event of go test -json: %w", lines.Text(), err)
		}
		switch {
		case e.ImportPath != "":
			v.compiler[e.ImportPath] += e.Output
		case e.Test != "":
			v.ofTest(e)
		case e.Package != "":
			v.ofPackage(e)
		}
	}
	return lines.Err()
}

func (v *verdict) ofTest(e event) {
	root, _, sub := strings.Cut(e.Test, "/")
	t, p := v.test(e.Package, root), v.pkg(e.Package)
	switch {
	case e.Action == "output":
		t.said.WriteString(e.Output)
	case e.Action == "skip":
		v.skipped = append(v.skipped, &test{name: e.Package + "." + e.Test, first: t.said.String()})
		t.running = t.running && sub
	case sub: // its test says the rest
	case e.Action == "run":
		t.running = true
		t.said.Reset()
	case e.Action == "pass":
		t.running, t.failed = false, false
	case e.Action == "fail":
		p.failed = true
		t.fail()
	}
}

func (v *verdict) ofPackage(e event) {
	p := v.pkg(e.Package)
	switch e.Action {
	case "start":
		p.failed = false
		p.said.Reset()
	case "output":
		p.said.WriteString(e.Output)
	case "fail":
		if !p.failed {
			v.failedAlone(e, p)
		}
	}
}

// failedAlone records a package that failed without a failed test: the tests during which
// its process ended, or else the package itself.
func (v *verdict) failedAlone(e event, p *result) {
	ended := false
	for _, t := range p.tests {
		if t.running {
			t.fail()
			t.never, ended = true, true
		}
	}
	if !ended && !p.alone {
		p.alone = true
		t := &test{name: e.Package, never: true}
		t.said.WriteString(v.compiler[e.FailedBuild] + p.said.String())
		t.fail()
		v.tests = append(v.tests, t)
	}
}

func (t *test) fail() {
	t.running, t.failed = false, true
	said := t.said.String()
	if t.fails++; t.fails == 1 {
		t.first = said
	}
	t.never = t.never || strings.Contains(said, "WARNING: DATA RACE") || strings.Contains("\n"+said, "\npanic: ")
}

func (v *verdict) pkg(path string) *result {
	p := v.packages[path]
	if p == nil {
		p = &result{}
		v.packages[path] = p
	}
	return p
}

func (v *verdict) test(pkg, name string) *test {
	p := v.pkg(pkg)
	name = pkg + "." + name
	for _, t := range p.tests {
		if t.name == name {
			return t
		}
	}
	t := &test{name: name}
	p.tests = append(p.tests, t)
	v.tests = append(v.tests, t)
	return t
}

// print writes the verdict, the worst last, and reports whether the run has passed.
func (v *verdict) print(out io.Writer, noskip bool) bool {
	var flaky, failed []*test
	for _, t := range v.tests {
		switch {
		case t.failed || t.never:
			failed = append(failed, t)
		case t.fails > 0:
			flaky = append(flaky, t)
		}
	}
	show := func(what string, tests []*test) {
		for _, t := range tests {
			fmt.Fprintf(out, "%s: %s\n%s", what, t.name, shortened(t.first))
		}
	}
	show("SKIPPED", v.skipped)
	show("FLAKY", flaky)
	show("FAILED", failed)
	for _, t := range failed { // once more, as a reader sees the end first
		fmt.Fprintln(out, "FAILED:", t.name)
	}
	if len(flaky) > mostFlaky {
		fmt.Fprintf(out, "FAILED: %d tests are flaky, want at most %d\n", len(flaky), mostFlaky)
	}
	if noskip {
		for _, t := range v.skipped {
			fmt.Fprintln(out, "FAILED:", t.name, "was skipped")
		}
	}
	return len(failed) == 0 && len(flaky) <= mostFlaky && !(noskip && len(v.skipped) > 0)
}

// shortened returns the first lines of what a test said, without those of go test itself.
func shortened(said string) string {
	var b strings.Builder
	n := 0
	for line := range strings.Lines(said) {
		if strings.HasPrefix(line, "=== ") || strings.Contains(line, "--- PASS: ") {
			continue
		}
		if n++; n > mostLines {
			b.WriteString("    …\n")
			break
		}
		b.WriteString("    " + strings.TrimSuffix(line, "\n") + "\n")
	}
	return b.String()
}
