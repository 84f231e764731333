package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// clean returns an error if Git would not bring back what is overwritten. A new requirement in
// go.mod is the step before this one.
func clean(dir string) error {
	git := exec.Command("git", "status", "--porcelain", "--", ".")
	git.Dir = dir
	out, err := git.Output()
	if err != nil {
		return fmt.Errorf("git status: %w; commit the program first, or give -force", err)
	}
	for line := range strings.Lines(string(out)) {
		switch name := strings.TrimSpace(line[3:]); filepath.Base(name) {
		case "go.mod", "go.sum", "go.work.sum":
		default:
			return fmt.Errorf("%s has changes that are not committed; commit them first, or give -force", name)
		}
	}
	return nil
}

// write writes the changed files.
func (m *moved) write() error {
	for path, text := range m.texts {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// diff writes the changes for patch -p1.
func (m *moved) diff(w io.Writer) error {
	temp, err := os.MkdirTemp("", "pinwheel-move")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	for _, path := range m.paths() {
		after := filepath.Join(temp, "after")
		if err := os.WriteFile(after, m.texts[path], 0o644); err != nil {
			return err
		}
		before := path
		if _, err := os.Stat(path); err != nil {
			before = filepath.Join(temp, "before")
			if err := os.WriteFile(before, nil, 0o644); err != nil {
				return err
			}
		}
		out, err := exec.Command("git", "diff", "--no-index", "--no-color", "--", before, after).Output()
		if exit := (*exec.ExitError)(nil); err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) {
			return fmt.Errorf("git diff: %w", err)
		}
		at := max(bytes.Index(out, []byte("@@")), 0)
		name := m.name(path)
		fmt.Fprintf(w, "--- a/%s\n+++ b/%s\n%s", name, name, out[at:])
	}
	return nil
}

// summary writes a line for each file that was moved or has comments.
func (m *moved) summary(w io.Writer) {
	for _, path := range m.paths() {
		if f := m.files[path]; f != nil {
			fmt.Fprintf(w, "%s: %d moved, %d left with a comment\n", m.name(path), f.changed, f.left)
		} else {
			fmt.Fprintf(w, "%s: functions that keep the meaning\n", m.name(path))
		}
	}
	if len(m.texts) == 0 {
		fmt.Fprintln(w, "nothing to move")
		return
	}
	fmt.Fprintln(w, "What differs all the same, such as the order of eviction, is in docs/migration.md of pinwheel, for each library.")
}

func (m *moved) paths() []string {
	var paths []string
	for path := range m.texts {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

// name returns a path as seen from the folder.
func (m *moved) name(path string) string {
	if rel, err := filepath.Rel(m.dir, path); err == nil {
		return filepath.ToSlash(rel)
	}
	return path
}
