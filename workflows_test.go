package pinwheel_test

import (
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestWorkflows checks what actionlint does not know: that the workflows have the Gos of go.mod, of
// proof/go.mod and of make newest, actions pinned by commit, and a token that may only read; and
// that dependabot looks after every module.
//
// Catches: a Go that the workflows forgot, an action whose tag somebody moves, a new module.
func TestWorkflows(t *testing.T) {
	gos := map[string]bool{} // used by a workflow
	for file, line := range map[string]string{"go.mod": `go `, "proof/go.mod": `go `, "Makefile": `newestgo = go`} {
		m := regexp.MustCompile(`(?m)^` + line + `(\d+\.\d+)`).FindStringSubmatch(readText(t, file))
		if m == nil {
			t.Fatalf("%s has no line %q", file, line)
		}
		gos[m[1]+".x"] = false
	}
	walkFiles(t, ".yml", func(file string, text []byte) {
		if strings.HasPrefix(file, ".github/workflows/") {
			for _, problem := range workflowProblems(string(text), gos) {
				t.Errorf("%s: %s", file, problem)
			}
		}
	})
	for version, used := range gos {
		if !used {
			t.Errorf("no workflow has Go %s", version)
		}
	}

	var modules, updated []string
	walkFiles(t, "go.mod", func(file string, _ []byte) { modules = append(modules, path.Join("/", path.Dir(file))) })
	for _, m := range regexp.MustCompile(`(?m)^ +- (/.*)$`).FindAllStringSubmatch(readText(t, ".github/dependabot.yml"), -1) {
		updated = append(updated, m[1])
	}
	slices.Sort(modules)
	if slices.Sort(updated); !slices.Equal(updated, modules) {
		t.Errorf("dependabot has %q, and the modules are %q", updated, modules)
	}
}

// Catches: a check that finds nothing wrong whatever it is given.
func TestWorkflowsAreReallyChecked(t *testing.T) {
	const pinned = "permissions:\n  contents: read\n\n      - uses: a/b@0123456789abcdef0123456789abcdef01234567"
	for text, want := range map[string]int{
		"\n" + pinned + " # v1.2.3\n          go-version: 1.25.x\n        go: [1.25.x, 1.26.x]\n": 0,
		"\n" + pinned + " # v1\n":                                           1,
		"\n" + pinned[:len(pinned)-1] + " # v1.2.3\n":                       1,
		"\n    " + pinned + " # v1.2.3\n":                                   1,
		"\n" + pinned + " # v1.2.3\n          go-version: stable\n":         1,
		"\n" + pinned + " # v1.2.3\n        go: [1.24.x, '1.26', 1.25.x]\n": 2,
	} {
		gos := map[string]bool{"1.25.x": false, "1.26.x": false}
		if got := workflowProblems(text, gos); len(got) != want || want == 0 && !(gos["1.25.x"] && gos["1.26.x"]) {
			t.Errorf("%s: %q and %v, want %d problems", text, got, gos, want)
		}
	}
}

var (
	goVersions = regexp.MustCompile(`^go(?:-version)?: (.*)$`)
	pinnedUse  = regexp.MustCompile(`^(?:- )?uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
)

// workflowProblems returns what is wrong with a workflow, and notes which Gos it uses.
func workflowProblems(text string, gos map[string]bool) (problems []string) {
	if !strings.Contains(text, "\npermissions:\n  contents: read\n\n") {
		problems = append(problems, "want the permission to read contents for all jobs, and no other")
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.Contains(line, "uses:") && !pinnedUse.MatchString(line) {
			problems = append(problems, line+": want a commit, and behind it # and the version")
		}
		m := goVersions.FindStringSubmatch(line)
		if m == nil || m[1] == "${{ matrix.go }}" {
			continue
		}
		for _, version := range strings.FieldsFunc(m[1], func(r rune) bool { return strings.ContainsRune("[], ", r) }) {
			if _, known := gos[version]; !known {
				problems = append(problems, line+": want of "+strings.Join(slices.Sorted(maps.Keys(gos)), ", "))
				continue
			}
			gos[version] = true
		}
	}
	return problems
}

func readText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	return string(text)
}
