package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
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
		"for a < b {":          {"condition: for false && (a < b) {", "other: for a >= b {", "other: for a <= b {"},
		"case p && q:":         {"condition: case true || (p && q):", "condition: case false && (p && q):", "negate: case !(p && q):", "other: case p || q:", "operand: case p:", "operand: case q:"},
		"return a == b":        {"condition: return true || (a == b)", "condition: return false && (a == b)", "negate: return !(a == b)", "other: return a != b"},
		"return true":          {"other: return false"},
		"a = b - 1":            {"drop: _ = b - 1", "drop: if false { a = b - 1 }", "other: a = b + 1", "operand: a = b", "operand: a = 1", "other: a = b - 2"},
		"a = min(a, b)":        {"drop: _ = min(a, b)", "drop: if false { a = min(a, b) }", "other: a = max(a, b)", "operand: a = a", "operand: a = b"},
		"return f(\"1\", 'a')": nil,
	} {
		source := wrapped(line)
		made, err := operate([]byte(source), "pkg/file.go", func(int) bool { return true })
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		var got []string
		for _, m := range made {
			e, err := m.edit("")
			mutated := source[:e.start] + e.text + source[e.end:]
			if err == nil {
				_, err = parser.ParseFile(token.NewFileSet(), "", mutated, 0)
			}
			if err != nil || m.function != "T.f" || m.folder != "pkg" {
				t.Errorf("%s => %+v: %v", line, m, err)
			}
			_, operator, _ := strings.Cut(m.name, ", ")
			begin := strings.LastIndexByte(source[:e.start], '\n') + 1
			end := e.start + len(e.text) + strings.IndexByte(mutated[e.start+len(e.text):], '\n')
			got = append(got, fmt.Sprintf("%s: %s", operator, strings.TrimSpace(mutated[begin:end])))
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

// TestSince: operators change what is new since a revision, and nothing else.
func TestSince(t *testing.T) {
	root := t.TempDir()
	write := func(name, source string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) {
		t.Helper()
		identity := []string{"-C", root, "-c", "user.name=a", "-c", "user.email=a@example.com"}
		if out, err := exec.Command("git", append(identity, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	for _, dir := range operated {
		write(dir+"/doc.go", "package p\n")
	}
	write("lru/a.go", "package p\n\nfunc f(a int) int {\n\ta++\n\treturn a\n}\n")
	git("init", "-q")
	git("add", ".")
	git("commit", "-qm", "first")
	write("lru/a.go", "package p\n\nfunc f(a int) int {\n\ta++\n\ta--\n\treturn a\n}\n")
	write("lru/a_test.go", "package p\n\nfunc g(a int) { a++ }\n")
	write("lru/gone.go", "package p\n")
	git("add", ".")
	git("commit", "-qm", "second")
	write("lru/gone.go", "package p\n\nfunc h(a int) { a++ }\n")
	made, err := madeSince(root, "HEAD~1")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range made {
		got = append(got, m.made.path+" "+m.name+" "+m.old)
	}
	if slices.Sort(got); !slices.Equal(got, []string{"lru/a.go line 5, drop a--", "lru/gone.go line 3, drop a++"}) {
		t.Errorf("%q", got)
	}
	if _, err := madeSince(root, "no-such-revision"); err == nil || !strings.Contains(err.Error(), "no-such-revision") {
		t.Errorf("of a revision that is not there: %v", err)
	}
}
