package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A verdict is the result of trying a mutation.
type verdict string

const (
	killed       verdict = "killed"
	hung         verdict = "hung" // killed too: the test did not end
	survived     verdict = "SURVIVED"
	doesNotBuild verdict = "does not compile"
	doesNotApply verdict = "does not apply"
)

// A bench builds and runs the tests of a module. It writes to a folder of its own
// and never to the module.
type bench struct {
	root    string // of the repository
	scratch string
	times   int                    // how often each mutation must be killed
	all     bool                   // run all tests of the package, not the named one
	took    map[test]time.Duration // the times of tests without mutations
	files   map[test][]string      // the test files that a test does not need
}

// prove runs the tests of the mutations on the unchanged module. They must pass: otherwise
// their failures would prove nothing.
func (b *bench) prove(mutations []mutation) error {
	b.took, b.files = map[test]time.Duration{}, map[test][]string{}
	built := map[string]string{}
	for _, m := range mutations {
		pkg, t := m.test.pkg, m.test
		if _, done := b.took[t]; done {
			continue
		}
		if built[pkg] == "" {
			binary := filepath.Join(b.scratch, fmt.Sprintf("unmutated%d.test", len(built)))
			if output, err := b.build(binary, pkg); err != nil {
				return fmt.Errorf("%s does not compile: %w\n%s", pkg, err, output)
			}
			built[pkg] = binary
		}
		unneeded, err := unneeded(filepath.Join(b.root, pkg), t.run)
		if err != nil {
			return err
		}
		if !b.all {
			b.files[t] = unneeded
		}
		began := time.Now()
		output, err := b.run(context.Background(), built[pkg], t, 1)
		if err == nil && strings.Contains(output, "no tests to run") {
			err = errors.New("there is no such test")
		}
		if err != nil {
			return fmt.Errorf("%s %s, unmutated: %w\n%s", pkg, t.run, err, output)
		}
		b.took[t] = time.Since(began)
	}
	return nil
}

// try applies a mutation, runs its test and returns the verdict and the test's output.
func (b *bench) try(m mutation) (v verdict, output string) {
	dir, err := os.MkdirTemp(b.scratch, "")
	if err != nil {
		return doesNotApply, err.Error()
	}
	defer os.RemoveAll(dir)
	overlay, err := b.overlay(dir, m)
	if err != nil {
		return doesNotApply, err.Error()
	}
	binary := filepath.Join(dir, "mutated.test")
	if output, err := b.build(binary, m.test.pkg, "-overlay", overlay); err != nil {
		return doesNotBuild, output
	}
	for seed := 1; seed <= b.times; seed++ {
		v, output = b.runMutated(binary, m.test, seed)
		if v == survived {
			return survived, fmt.Sprintf("in run %d\n%s", seed, output)
		}
	}
	return v, output
}

// overlay writes the mutated file, and the description of it that the go command
// takes, to dir. There the test files that are not needed do not exist.
func (b *bench) overlay(dir string, m mutation) (path string, err error) {
	e, err := m.edit(b.root)
	if err != nil {
		return "", err
	}
	original := filepath.Join(b.root, e.path)
	source, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	mutated := filepath.Join(dir, "mutated.go")
	if err := os.WriteFile(mutated, slices.Concat(source[:e.start], []byte(e.text), source[e.end:]), 0o600); err != nil {
		return "", err
	}
	replace := map[string]string{original: mutated}
	for _, unneeded := range b.files[m.test] {
		replace[unneeded] = ""
	}
	description, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, description, 0o600)
}

// build makes the test binary of a package, without debug information.
func (b *bench) build(binary, pkg string, flags ...string) (output string, err error) {
	args := append([]string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", binary}, flags...)
	cmd := exec.Command("go", append(args, ".")...)
	cmd.Dir = filepath.Join(b.root, pkg) // which may be in another module below root
	said, err := cmd.CombinedOutput()
	return string(said), err
}

// runMutated runs a test for at most ten times its time without a mutation plus five seconds.
func (b *bench) runMutated(binary string, t test, seed int) (v verdict, output string) {
	limit := 10*b.took[t] + 5*time.Second
	if b.all {
		limit = 10 * time.Minute
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	output, err := b.run(ctx, binary, t, seed)
	switch {
	case err == nil:
		return survived, output
	case ctx.Err() != nil:
		return hung, output
	case strings.Contains(output, ".TestMain(") && !strings.Contains(output, "testing.(*M).Run("):
		return doesNotBuild, output // a file that TestMain needs was taken for one that is not needed
	}
	return killed, output
}

// run runs a test in the scratch folder, where it may leave files. A rapid test draws the same
// inputs each time, so that a kill can be repeated, and does not shrink them.
func (b *bench) run(ctx context.Context, binary string, t test, seed int) (output string, err error) {
	var args []string
	if !b.all {
		args = append(args, "-test.run", t.run)
	}
	if t.checks == "" {
		args = append(args, "-test.short")
	} else {
		args = append(args, "-rapid.checks", t.checks, "-rapid.seed", strconv.Itoa(seed), "-rapid.shrinktime", "0s", "-rapid.nofailfile")
	}
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir = b.scratch
	said, err := cmd.CombinedOutput()
	return string(said), err
}
