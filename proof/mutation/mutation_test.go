package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

// TestVerdicts tries the mutations of a small module, one for each verdict.
func TestVerdicts(t *testing.T) {
	fixture, err := os.ReadFile("testdata/fixture.txt")
	settle.Must(t, err)
	mutations, err := parse(string(fixture))
	settle.Must(t, err)
	b := fixtureBench(t)
	settle.Must(t, b.prove(mutations))
	want := []verdict{killed, survived, hung, doesNotBuild, doesNotApply, doesNotApply}
	for i, m := range mutations {
		if got, output := b.try(m); got != want[i] {
			t.Errorf("%s: %s, want %s\n%s", m.name, got, want[i], output)
		}
	}
	var report strings.Builder
	count := tryAll(&report, b, mutations[:2], false)
	if count[killed] != 1 || count[survived] != 1 || !strings.Contains(report.String(), "SURVIVED") {
		t.Errorf("%v\n%s", count, &report)
	}
}

func fixtureBench(t *testing.T) *bench {
	root := t.TempDir() // it is a module of its own, and no module of the repository
	settle.Must(t, os.CopyFS(root, os.DirFS("testdata/fixture")))
	settle.Must(t, os.WriteFile(filepath.Join(root, "go.mod"), []byte("module fixture\n\ngo 1.25.0\n"), 0o600))
	return &bench{root: root, scratch: t.TempDir(), times: 1}
}

// TestProve: a test that is missing, or fails without a mutation, proves nothing.
func TestProve(t *testing.T) {
	for run, want := range map[string]string{"TestSum": "", "TestProduct": "no such test"} {
		err := fixtureBench(t).prove([]mutation{{test: test{pkg: ".", run: run}}})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", run, err, want)
		}
	}
}

// TestUnneeded: a test needs the files that its own needs, and no others.
func TestUnneeded(t *testing.T) {
	for run, want := range map[string][]string{
		"TestSum":      {"export_test.go", "other_test.go", "outside_test.go"},
		"TestDouble/x": {"export_test.go", "outside_test.go", "sum_test.go", "two_test.go"},
		"TestOutside":  {"other_test.go", "sum_test.go", "two_test.go"},
		"":             nil,
	} {
		paths, err := unneeded("testdata/fixture", run)
		var got []string
		for _, path := range paths {
			got = append(got, filepath.Base(path))
		}
		if slices.Sort(got); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v; want %v", run, got, err, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for list, want := range map[string]string{
		"name\nfile\n- a\n+ b\npkg Test":   "a folder and a function",
		"name\nfile f\n+ a\n- b\npkg Test": "five lines",
		"name\nfile f\n- a\n+ b\npkg":      "a package, a pattern",
		"name\nfile f\n- a\n+ b":           "five lines",
		"name\nfile f\n- a\n+ b\npkg Test\n\n# again\nname\nfile f\n- a\n+\npkg Test 5": "two entries",
	} {
		if _, err := parse(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", list, err, want)
		}
	}
}

// TestListApplies: every text of the list is in its function, exactly once.
func TestListApplies(t *testing.T) {
	mutations, err := parse(list)
	settle.Must(t, err)
	for _, m := range mutations {
		if _, err := m.edit("../.."); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
}
