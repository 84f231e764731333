package pinwheel_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/pinwheel-cache/pinwheel"

// TestImports keeps the core small: it imports the standard library,
// golang.org/x/sync and this module, and the layers know only those below them. Of
// go-zero, gozero/collection has the interface of a ticker, and what its package
// imports; only gozero has more.
//
// Catches: an import of go-zero (which sets GOMAXPROCS and installs signal
// handlers), of a Prometheus client, of a logger, or of a package further up.
func TestImports(t *testing.T) {
	const sync = "golang.org/x/sync/"
	may := map[string][]string{ // what each may use beside itself; with a slash, also what is below
		"cache":        {"cache/internal/", "lru", "stats", "timingwheel", "internal/", sync},
		"lru":          {},
		"stats":        {"internal/"},
		"timingwheel":  {"stats", "internal/", sync},
		"cmd/cachesim": {"cache", "lru", "stats", "timingwheel", "cache/internal/", "internal/", sync},
	}
	for pkg, allowed := range may {
		t.Run(pkg, func(t *testing.T) {
			format := "{{if not .Standard}}{{.ImportPath}}{{end}}"
			deps := strings.Fields(goCommand(t, moduleRoot(t), "readonly", "list", "-deps", "-f", format, "./"+pkg))
			if !slices.Contains(deps, module+"/"+pkg) {
				t.Fatalf("go list -deps names %v, but not the package itself", deps)
			}
			for _, dep := range deps {
				dep = strings.TrimPrefix(dep, module+"/")
				if dep != pkg && !slices.ContainsFunc(allowed, func(a string) bool {
					return dep == a || strings.HasSuffix(a, "/") && strings.HasPrefix(dep, a)
				}) {
					t.Errorf("%s depends on %s", pkg, dep)
				}
			}
		})
	}
}

// TestFreshModule builds what a user of the cache would: a module that imports
// it and nothing else has two requirements.
//
// Catches: a dependency that reaches the users through a package the cache imports.
func TestFreshModule(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "go.mod", "module example.com/fresh\n\ngo 1.25.0\n\nrequire "+module+" v0.0.0\n\nreplace "+module+" => "+moduleRoot(t)+"\n")
	write(t, dir, "main.go", `package main

import "`+module+`/cache"

func main() {
	c := cache.Must(cache.Options[string, int]{Limit: 10})
	c.Set("answer", 42)
	v, ok := c.Get("answer")
	println(v, ok)
}
`)
	goCommand(t, dir, "mod", "mod", "tidy")
	var mod struct {
		Require []struct{ Path string }
	}
	if err := json.Unmarshal([]byte(goCommand(t, dir, "mod", "mod", "edit", "-json")), &mod); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range mod.Require {
		got = append(got, r.Path)
	}
	slices.Sort(got)
	if want := []string{module, "golang.org/x/sync"}; !slices.Equal(got, want) {
		t.Errorf("requirements %v, want %v", got, want)
	}
	goCommand(t, dir, "mod", "vet", "./...") // it compiles with these alone
}

// moduleRoot returns the folder of this module's go.mod.
func moduleRoot(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(goCommand(t, ".", "readonly", "list", "-m", "-f", "{{.Dir}}", module))
}

// goCommand runs the go command and returns its output. The modules it needs are
// in the module cache, since this test was built from them: it asks no network.
// With mod "readonly" it leaves go.mod and go.sum alone, with "mod" it may write
// them.
func goCommand(t *testing.T, dir, mod string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath("go")
	if err != nil {
		t.Fatalf("this test needs the go command: %v", err)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod="+mod, "GOWORK=off", "GOPROXY=off", "GOSUMDB=off")
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, &stderr)
	}
	return stdout.String()
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
