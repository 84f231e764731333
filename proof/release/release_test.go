// Package release releases the modules to a proxy in a folder, as scripts/release does for
// users, and builds programs with them.
package release

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

const (
	library = "github.com/pinwheel-cache/pinwheel"
	version = "v0.99.0" // which is never released
	goZero  = "github.com/zeromicro/go-zero"
)

var goZeroToo = flag.Bool("release.gozero", false, "build programs with go-zero too, which downloads and compiles all of it")

// TestRelease publishes HEAD and uses it from modules outside, with an empty module
// cache.
//
// Catches: a module that needs its replace line, requires a missing version or lacks a file,
// and a cache that moves its user's go-zero.
func TestRelease(t *testing.T) {
	users := publish(t)
	t.Run("checksums and notes", func(t *testing.T) {
		users := users.inFolder(t)
		users.write(t, "go.mod", "module example.com/service\n\ngo 1.25.0\n")
		users.run(t, "go", "get", library+"@"+version)
		sums, err := os.ReadFile(filepath.Join(users.proxy, "checksums.txt"))
		settle.Must(t, err)
		got := strings.Split(strings.TrimSpace(string(sums)), "\n")
		for _, line := range users.sums(t) {
			if strings.HasPrefix(line, library+" ") && !slices.Contains(got, line) {
				t.Errorf("go.sum has %s, and checksums.txt\n%s", line, sums)
			}
		}
		if len(got) != 14 {
			t.Errorf("checksums.txt has %d lines, want two for each of seven modules:\n%s", len(got), sums)
		}
		notes, err := os.ReadFile(filepath.Join(users.proxy, "../notes.md"))
		if err != nil || !strings.Contains(string(notes), "A rehearsal.") || strings.Contains(string(notes), "\n## ") {
			t.Errorf("notes.md: %v\n%s", err, notes)
		}
	})
	t.Run("go install", func(t *testing.T) {
		users.inFolder(t).run(t, "go", "install", library+"/cmd/cachesim@"+version)
	})
	t.Run("near", func(t *testing.T) {
		users := users.inFolder(t)
		users.write(t, "main.go", `package main

import "`+library+`/near"

var _ near.Source

func main() {}
`)
		users.write(t, "go.mod", "module example.com/service\n\ngo 1.25.0\n")
		users.run(t, "go", "get", library+"/near@"+version)
		users.run(t, "go", "build", "-o", os.DevNull, ".")
		users.wantAdded(t, "go get and go build", nil, library, "golang.org/x/sync")
	})
	for module, program := range map[string]string{
		"otel": `package main

import (
	"go.opentelemetry.io/otel/sdk/metric"

	otelpinwheel "` + library + `/otel"
)

func main() {
	reader := metric.NewManualReader(metric.WithProducer(otelpinwheel.NewProducer()))
	if _, err := otelpinwheel.Register(metric.NewMeterProvider(metric.WithReader(reader))); err != nil {
		panic(err)
	}
}
`,
		"prometheus": `package main

import (
	"github.com/prometheus/client_golang/prometheus"

	prompinwheel "` + library + `/prometheus"
)

func main() { prometheus.MustRegister(prompinwheel.NewCollector()) }
`,
	} {
		t.Run(module, func(t *testing.T) {
			users := users.inFolder(t)
			users.write(t, "main.go", program)
			users.write(t, "go.mod", "module example.com/service\n\ngo 1.25.0\n")
			users.run(t, "go", "get", library+"/"+module+"@"+version)
			users.run(t, "go", "mod", "tidy")
			users.run(t, "go", "run", ".")
			if sums := strings.Join(users.sums(t), "\n"); strings.Contains(sums, goZero) {
				t.Errorf("who does not use go-zero gets it:\n%s", sums)
			}
		})
	}
	if !*goZeroToo {
		return
	}
	t.Run("bills of materials", func(t *testing.T) {
		releaser := user{dir: filepath.Join(users.proxy, "../../.."), env: os.Environ()}
		releaser.run(t, "scripts/release", "-bills", version)
		bill, err := os.ReadFile(filepath.Join(users.proxy, "../pinwheel-near-gozero.cdx.json"))
		settle.Must(t, err)
		for _, want := range []string{
			"pkg:golang/" + library + "/near/gozero@" + version, "pkg:golang/" + library + "/near/redis@" + version,
			"pkg:golang/" + goZero + "@v", `"SHA-256"`, `"MIT"`,
		} {
			if !strings.Contains(string(bill), want) {
				t.Errorf("the bill of near/gozero does not have %s:\n%.3000s", want, bill)
			}
		}
	})
	t.Run("cache beside go-zero v1.7.0", func(t *testing.T) {
		// NewSet has type parameters in later versions.
		users.write(t, "main.go", `package main

import "github.com/zeromicro/go-zero/core/collection"

func main() {
	set := collection.NewSet()
	set.AddStr("x")
}
`)
		users.write(t, "go.mod", "module example.com/service\n\ngo 1.25.0\n\nrequire "+goZero+" v1.7.0\n")
		users.run(t, "go", "mod", "tidy")
		before := users.sums(t)
		users.write(t, "cache.go", `package main

import "`+library+`/cache"

func init() { cache.Must(cache.Options[string, int]{Limit: 10}).Set("x", 1) }
`)
		users.run(t, "go", "get", library+"/cache@"+version)
		users.run(t, "go", "build", "-o", os.DevNull, ".")
		users.wantAdded(t, "go get and go build", before, library, "golang.org/x/sync")

		// go mod tidy also lists what the tests of cache need, which is neither downloaded
		// nor built for the service.
		users.run(t, "go", "mod", "tidy")
		users.run(t, "go", "build", "-o", os.DevNull, ".")
		users.wantAdded(t, "go mod tidy", before, library, "go.uber.org/goleak", "golang.org/x/sync", "pgregory.net/rapid")
		if got := users.run(t, "go", "list", "-m", goZero); got != goZero+" v1.7.0" {
			t.Errorf("the service now has %s", got)
		}
	})
	t.Run("gozero and its collection", func(t *testing.T) {
		users := users.inFolder(t)
		users.write(t, "main.go", `package main

import (
	"time"

	"`+library+`/gozero"
	"`+library+`/gozero/collection"
)

func main() {
	users := gozero.MustNewCache[string, int](gozero.Conf{Name: "users", Limit: 10})
	users.Set("x", 1)
	c, err := collection.NewCache(time.Minute)
	if err != nil {
		panic(err)
	}
	c.Set("x", 1)
}
`)
		users.write(t, "go.mod", "module example.com/service\n\ngo 1.25.0\n")
		users.run(t, "go", "get", library+"/gozero@"+version)
		users.run(t, "go", "mod", "tidy")
		users.run(t, "go", "run", ".")
		if i := slices.IndexFunc(users.sums(t), func(line string) bool { return strings.Contains(line, "/rueidis ") }); i >= 0 {
			t.Errorf("who uses no near cache gets its client of Redis: %s", users.sums(t)[i])
		}
	})
	t.Run("near/gozero", func(t *testing.T) {
		users := users.inFolder(t)
		users.write(t, "main.go", `package main

import (
	"fmt"

	"`+library+`/near/gozero"
)

func main() {
	_, err := gozero.New(gozero.Conf{}, nil, nil)
	fmt.Println(err)
}
`)
		users.write(t, "go.mod", "module example.com/service\n\ngo 1.25.0\n")
		users.run(t, "go", "get", library+"/near/gozero@"+version)
		users.run(t, "go", "mod", "tidy")
		if got := users.run(t, "go", "run", "."); !strings.Contains(got, "sqlc.ErrNotFound") {
			t.Errorf("the program prints %q", got)
		}
	})
}

// TestRefusedRelease checks that a release that is refused leaves nothing behind that refuses the
// next one, such as the lines that the go command adds to go.sum with -mod=mod.
func TestRefusedRelease(t *testing.T) {
	releaser := clone(t)
	gozero := user{dir: filepath.Join(releaser.dir, "gozero"), env: releaser.env}
	gozero.run(t, "go", "mod", "edit", "-require="+library+"/near/redis@v0.0.0", "-replace="+library+"/near/redis=../near/redis")
	releaser.run(t, "git", "commit", "-qam", "a go.mod that is not tidy")
	refused := func(want string, args ...string) {
		t.Helper()
		cmd := exec.Command(filepath.Join(releaser.dir, "scripts/release"), args...)
		cmd.Dir, cmd.Env = releaser.dir, releaser.env
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%v:\n%s\nwant %s", err, out, want)
		}
	}
	refused("go list fails in gozero", "-unchecked", version)
	refused("docs/evidence.md is", version)
	if left := releaser.run(t, "git", "status", "--porcelain"); left != "" {
		t.Errorf("it leaves %s", left)
	}
	releaser.write(t, "CHANGELOG.md", "## Unreleased\n\n- x\n\n## "+version[1:]+"\n\n- y\n")
	releaser.run(t, "git", "commit", "-qam", "a change that no version has")
	refused(`below "## Unreleased"`, "-unchecked", version)
	releaser.write(t, "go.sum", "")
	refused("M go.sum", "-unchecked", version)
}

// clone returns the releaser of a clone, whose go command may change go.mod and go.sum. In its
// CHANGELOG the version has what is unreleased, as a releaser does it, and a line of its own, as
// nothing may be.
func clone(t *testing.T) user {
	t.Helper()
	here, dir := user{dir: ".", env: os.Environ()}, t.TempDir()
	here.run(t, "git", "clone", "-q", here.run(t, "git", "rev-parse", "--show-toplevel"), dir)
	releaser := user{dir: dir, env: append(os.Environ(), "GOFLAGS=-mod=mod",
		"GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x@example.com", "GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x@example.com")}
	changes, err := os.ReadFile(filepath.Join(dir, "CHANGELOG.md"))
	settle.Must(t, err)
	releaser.write(t, "CHANGELOG.md", strings.Replace(string(changes), "## Unreleased\n",
		"## Unreleased\n\n## "+version[1:]+" - 2026-11-28\n\n- A rehearsal.\n", 1))
	releaser.run(t, "git", "commit", "-qam", version)
	return releaser
}

// A user has a module in a folder, and an environment.
type user struct {
	dir   string
	env   []string
	proxy string // the folder with the modules, of who uses them
}

// publish releases HEAD to a proxy and returns a user of it.
func publish(t *testing.T) user {
	t.Helper()
	releaser := clone(t)
	releaser.run(t, "scripts/release", "-unchecked", version)
	proxy := filepath.Join(releaser.dir, "dist", version, "proxy")
	u := newUser(t, "file://"+proxy+",")
	u.proxy, u.env = proxy, append(u.env, "GONOSUMDB="+library) // until a version is published
	return u
}

// newUser returns a user with empty caches, and settings as most have them, who looks for modules
// at a proxy before others.
func newUser(t *testing.T, proxy string) user {
	t.Helper()
	here := user{dir: ".", env: os.Environ()}
	// Other modules are in the module cache, or come from where the go command gets them.
	proxies := fmt.Sprintf("%sfile://%s/cache/download,%s", proxy, here.run(t, "go", "env", "GOMODCACHE"), here.run(t, "go", "env", "GOPROXY"))
	u := user{dir: t.TempDir(), env: append(os.Environ(), "GOMODCACHE="+t.TempDir(), "GOCACHE="+t.TempDir(), "GOBIN="+t.TempDir(),
		"GOENV=off", "GOFLAGS=", "GOWORK=off", "GOPRIVATE=", "GONOPROXY=", "GOPROXY="+proxies)}
	t.Cleanup(func() { u.run(t, "go", "clean", "-modcache") }) // its files are read-only
	return u
}

// inFolder returns the user with an empty folder.
func (u user) inFolder(t *testing.T) user {
	u.dir = t.TempDir()
	return u
}

func (u user) write(t *testing.T, name, text string) {
	t.Helper()
	settle.Must(t, os.WriteFile(filepath.Join(u.dir, name), []byte(text), 0o600))
}

// run runs a command and returns what it prints, without the space around it.
func (u user) run(t *testing.T, name string, args ...string) string {
	t.Helper()
	if strings.HasPrefix(name, "scripts/") {
		name = filepath.Join(u.dir, name)
	}
	cmd := exec.Command(name, args...)
	var stderr strings.Builder
	cmd.Dir, cmd.Env, cmd.Stderr = u.dir, u.env, &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, &stderr)
	}
	return strings.TrimSpace(string(out))
}

// sums returns the lines of go.sum.
func (u user) sums(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(u.dir, "go.sum"))
	settle.Must(t, err)
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// wantAdded compares the modules that go.sum has since before with those wanted, in
// order. Each has two lines: a hash of its files, and one of its go.mod.
func (u user) wantAdded(t *testing.T, after string, before []string, want ...string) {
	t.Helper()
	added := slices.DeleteFunc(u.sums(t), func(line string) bool { return slices.Contains(before, line) })
	var modules []string
	for _, line := range added {
		path, _, _ := strings.Cut(line, " ")
		modules = append(modules, path)
	}
	if modules = slices.Compact(modules); len(added) != 2*len(want) || !slices.Equal(modules, want) {
		t.Errorf("after %s, go.sum has %d lines more, want two for each of %v:\n%s", after, len(added), want, strings.Join(added, "\n"))
	}
}
