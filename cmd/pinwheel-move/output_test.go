package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestClean changes a file that Git knows, and go.mod.
func TestClean(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := clean(dir); err == nil || !strings.Contains(err.Error(), "-force") {
		t.Errorf("without Git: %v, want an error that names -force", err)
	}
	write("go.mod", "module x\n")
	write("a.go", "package x\n")
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-qm", "x"}} {
		git := exec.Command("git", args...)
		git.Dir = dir
		if out, err := git.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	write("go.mod", "module y\n")
	if err := clean(dir); err != nil {
		t.Errorf("with another go.mod: %v, want none", err)
	}
	write("a.go", "package y\n")
	if err := clean(dir); err == nil || !strings.Contains(err.Error(), "a.go") {
		t.Errorf("with another a.go: %v, want an error that names it", err)
	}
}

// TestDiff applies what diff writes, and compares with what write would write.
func TestDiff(t *testing.T) {
	dir := t.TempDir()
	path, made := filepath.Join(dir, "a.go"), filepath.Join(dir, "new.go")
	if err := os.WriteFile(path, []byte("package x\n\nvar a = 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	m := &moved{dir: dir, texts: map[string][]byte{path: []byte("package x\n\nvar a = 2\n"), made: []byte("package x\n")}}
	var diff strings.Builder
	if err := m.diff(&diff); err != nil {
		t.Fatal(err)
	}
	git := exec.Command("git", "apply", "--unsafe-paths", "-p1", "-")
	git.Dir, git.Stdin = dir, strings.NewReader(diff.String())
	if out, err := git.CombinedOutput(); err != nil {
		t.Fatalf("git apply: %v\n%s\n%s", err, out, diff.String())
	}
	for path, want := range m.texts {
		if got, err := os.ReadFile(path); err != nil || string(got) != string(want) {
			t.Errorf("%s is %q, want %q: %v", path, got, want, err)
		}
	}
}
