package collection_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

const (
	module = "github.com/pinwheel-cache/pinwheel"
	goZero = "github.com/zeromicro/go-zero"
)

// TestGoZeroSuite runs go-zero's own tests of its cache and its timing wheel, all
// of them, with ours in their place. They are copied from the module cache into a
// module of their own; what is changed is in [ported].
//
// Catches: a name or a signature that is not the same, and whatever else go-zero
// promises by its tests.
func TestGoZeroSuite(t *testing.T) {
	binary, left := buildSuite(t)
	if len(left) < 20 {
		t.Fatalf("found the tests %q, want at least 20", left)
	}
	// They give a goroutine 1 ms or 10 ms of real time, which may be too little on a busy
	// machine. A test that failed is run up to twice more.
	for attempt := 1; len(left) > 0; attempt++ {
		cmd := exec.Command(binary, "-test.v", "-test.timeout=1m", "-test.run", "^("+strings.Join(left, "|")+")$")
		cmd.Dir = filepath.Dir(binary)
		out, err := cmd.CombinedOutput()
		for _, m := range regexp.MustCompile(`(?m)^--- PASS: (\w+) `).FindAllSubmatch(out, -1) {
			left = slices.DeleteFunc(left, func(name string) bool { return name == string(m[1]) })
		}
		switch {
		case bytes.Contains(out, []byte("DATA RACE")):
			t.Fatalf("%s", out)
		case len(left) == 0:
		case attempt == 3:
			t.Fatalf("%v: did not pass: %q\n%s", err, left, out)
		default:
			t.Logf("%v: to be run again: %q\n%s", err, left, out)
		}
	}
}

// buildSuite builds go-zero's tests, and returns the program and their names.
func buildSuite(t *testing.T) (binary string, names []string) {
	t.Helper()
	root, own, theirs, dir := moduleDir(t, module), moduleDir(t, module+"/gozero"), moduleDir(t, goZero), t.TempDir()
	for _, file := range []string{"cache_test.go", "timingwheel_test.go"} {
		source := ported(t, read(t, filepath.Join(theirs, "core", "collection", file)))
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(source, -1) {
			names = append(names, m[1])
		}
		write(t, filepath.Join(dir, file), source)
	}
	// The same requirements as here, so that all modules are in the module cache.
	mod := strings.Replace(read(t, filepath.Join(own, "go.mod")), "module "+module+"/gozero", "module example.com/suite", 1)
	mod = strings.ReplaceAll(mod, "=> ../", "=> "+root+"/")
	write(t, filepath.Join(dir, "go.mod"), fmt.Sprintf("%s\nrequire %s/gozero v0.0.0\n\nreplace %[2]s/gozero => %s\n", mod, module, own))
	write(t, filepath.Join(dir, "go.sum"), read(t, filepath.Join(own, "go.sum")))

	binary = filepath.Join(dir, "tests.exe") // Windows insists on the name
	build := []string{"test", "-mod=mod", "-vet=off", "-c", "-o", binary}
	if settle.UnderRace() {
		build = append(build, "-race")
	}
	goCommand(t, dir, append(build, ".")...)
	return binary, names
}

// ported adapts a test file of go-zero to our package: the tests are outside of the package,
// and import its names without a qualifier.
func ported(t *testing.T, source string) string {
	t.Helper()
	for _, change := range []struct{ from, to string }{
		{"package collection\n", "package collection_test\n"},
		{"import (\n", "import (\n\t. \"" + module + "/gozero/collection\"\n"},
	} {
		if strings.Count(source, change.from) != 1 {
			t.Fatalf("go-zero's test file has not one %q", change.from)
		}
		source = strings.Replace(source, change.from, change.to, 1)
	}
	return strings.ReplaceAll(source, "cache.size()", "cache.Len()")
}

// moduleDir returns the folder of a module in the version that go.mod requires. In a
// workspace another one may be built.
func moduleDir(t *testing.T, path string) string {
	t.Helper()
	goCommand(t, ".", "mod", "download", path)
	return strings.TrimSpace(goCommand(t, ".", "list", "-mod=readonly", "-m", "-f", "{{.Dir}}", path))
}

// goCommand runs the go command in a folder and returns its output.
func goCommand(t *testing.T, dir string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath("go")
	if err != nil {
		t.Fatalf("this test needs the go command: %v", err)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, &stderr)
	}
	return stdout.String()
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	must(t, err)
	return string(content)
}

func write(t *testing.T, path, content string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(content), 0o600))
}
