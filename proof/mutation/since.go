package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// operated are the folders in which operators make mistakes.
var operated = []string{"cache", "lru", "timingwheel", "stats", "internal", "near", "gozero", "otel", "prometheus", "cmd"}

// madeSince returns the mutations that operators make in the lines of a repository that are new
// since a revision.
func madeSince(root, revision string) (all []mutation, err error) {
	lines, err := newLines(root, revision)
	if err != nil {
		return nil, err
	}
	for path, lines := range lines {
		source, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return nil, err
		}
		made, err := operate(source, path, func(line int) bool { return lines[line] })
		if err != nil {
			return nil, err
		}
		all = append(all, made...)
	}
	return all, nil
}

var hunk = regexp.MustCompile(`^@@ -\S+ \+(\d+)(?:,(\d+))? @@`)

// newLines returns the lines of each Go file, but for tests, that are not in a revision.
func newLines(root, revision string) (map[string]map[int]bool, error) {
	args := []string{"-C", root, "diff", "--unified=0", "--no-color", "--no-ext-diff", "--no-renames", "--diff-filter=d", "--dst-prefix=b/", revision, "--"}
	diff, err := exec.Command("git", append(args, operated...)...).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("git diff %s: %w\n%s", revision, err, diff)
	}
	all := map[string]map[int]bool{}
	path := ""
	for line := range strings.Lines(string(diff)) {
		if after, ok := strings.CutPrefix(line, "+++ b/"); ok {
			path = strings.TrimSpace(after)
		}
		m := hunk.FindStringSubmatch(line)
		if m == nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			continue
		}
		first, _ := strconv.Atoi(m[1]) // digits
		n := 1
		if m[2] != "" {
			n, _ = strconv.Atoi(m[2])
		}
		if all[path] == nil {
			all[path] = map[int]bool{}
		}
		for i := range n {
			all[path][first+i] = true
		}
	}
	return all, nil
}
