package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestOperators: what the operators make of each kind of line, and that all of it is Go.
func TestOperators(t *testing.T) {
	for line, want := range map[string][]string{
		"f(a)":       {"drop: if false { f(a) }"},
		"defer f(a)": {"drop: if false { defer f(a) }"},
		"a++":        {"drop: if false { a++ }"},
		"a = b":      {"drop: _ = b", "drop: if false { a = b }"},
		"a := b":     nil,
		"if p {": {
			"condition: if true || (p) {", "condition: if false && (p) {", "negate: if !(p) {",
		},
		"if !p {":              {"condition: if true || (!p) {", "condition: if false && (!p) {", "negate: if p {"},
		"for a < b {":          {"condition: for false && (a < b) {", "compare: for a >= b {", "compare: for a <= b {"},
		"case p && q:":         {"condition: case true || (p && q):", "condition: case false && (p && q):", "negate: case !(p && q):", "logic: case p || q:", "operand: case p:", "operand: case q:"},
		"return a == b":        {"condition: return true || (a == b)", "condition: return false && (a == b)", "negate: return !(a == b)", "compare: return a != b"},
		"return true":          {"answer: return false"},
		"a = b - 1":            {"drop: _ = b - 1", "drop: if false { a = b - 1 }", "sign: a = b + 1", "operand: a = b", "operand: a = 1", "off by one: a = b - 2"},
		"a = min(a, b)":        {"drop: _ = min(a, b)", "drop: if false { a = min(a, b) }", "min max: a = max(a, b)", "operand: a = a", "operand: a = b"},
		"return f(\"1\", 'a')": nil,
	} {
		source := wrapped(line)
		made, err := mutantsOf([]byte(source))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		var got []string
		for _, m := range made {
			m, ok := m.mutation("pkg", "file.go", []byte(source))
			if !ok || m.old != line || m.function != "T.f" {
				t.Errorf("%s: %+v", line, m)
			}
			mutated, err := m.apply([]byte(source))
			if err == nil {
				_, err = parser.ParseFile(token.NewFileSet(), "", mutated, 0)
			}
			if err != nil {
				t.Errorf("%s => %s: %v", line, m.new, err)
			}
			_, operator, _ := strings.Cut(m.name, ": ")
			got = append(got, operator+": "+m.new)
		}
		if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			t.Errorf("%s:\n got %q\nwant %q", line, got, want)
		}
	}
}

// wrapped returns a file that has a line in a method.
func wrapped(line string) string {
	before, after := "", ""
	switch {
	case strings.HasPrefix(line, "case "):
		before, after = "switch {\n", "\n}"
	case strings.HasSuffix(line, "{"):
		after = "\n}"
	}
	return "package p\n\nfunc (t *T[K]) f() {\n" + before + "\t" + line + after + "\n}\n"
}

// TestEquivalentsAreMade: the list of what no test can notice has nothing else.
func TestEquivalentsAreMade(t *testing.T) {
	made := map[string]bool{}
	for line := range strings.Lines(withoutComments(equivalents)) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		file, _, _ := strings.Cut(line, " ")
		if !made[file] {
			made[file] = true
			mutations, err := mutationsOf(filepath.Join("..", ".."), filepath.Join("..", "..", file))
			if err != nil {
				t.Error(err)
			}
			for _, m := range mutations {
				made[m.key()] = true
			}
		}
		if !made[line] {
			t.Errorf("no operator makes: %s", line)
		}
	}
}

// TestSampleOf: a change of the sources leaves in the sample what it does not touch.
func TestSampleOf(t *testing.T) {
	all, err := operatedMutations(filepath.Join("..", ".."), "^lru/")
	if err != nil {
		t.Fatal(err)
	}
	keys := func(of []mutation, n int, seed uint64) (keys []string) {
		for _, m := range sampleOf(slices.Clone(of), n, seed) {
			keys = append(keys, m.key())
		}
		return keys
	}
	half := len(all) / 2
	before, other := keys(all, half, 1), keys(all, half, 2)
	if slices.Equal(before, other) {
		t.Error("the seed means nothing")
	}
	dropped := before[half/2]
	changed := slices.DeleteFunc(slices.Clone(all), func(m mutation) bool { return m.key() == dropped })
	slices.Reverse(changed)
	after := keys(changed, half, 1)
	for _, key := range before {
		if key != dropped && !slices.Contains(after, key) {
			t.Errorf("it has left the sample: %s", key)
		}
	}
}

// TestOperatedMutations: each package of the library has some, and those that are known to be
// equivalent are left out.
func TestOperatedMutations(t *testing.T) {
	all, err := operatedMutations(filepath.Join("..", ".."), "")
	if err != nil {
		t.Fatal(err)
	}
	folders := map[string]int{}
	for _, m := range all {
		folders[strings.Split(m.file, "/")[0]]++
		if strings.Contains(equivalents, m.key()) {
			t.Errorf("it is equivalent: %s", m.key())
		}
	}
	for _, folder := range operated {
		if _, err := os.Stat(filepath.Join("..", "..", folder)); err != nil || folders[folder] < 100 {
			t.Errorf("%d in %s: %v", folders[folder], folder, err)
		}
	}
}
