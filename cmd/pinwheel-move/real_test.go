package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var realPackages = flag.Bool("real", false, "move the packages of testdata/real.txt, which are downloaded, and run their tests")

// TestReal reads the list of packages of public modules and, with -real, moves each and runs its
// own tests before and after: those that passed must pass again. It logs what became of each.
func TestReal(t *testing.T) {
	list, err := os.ReadFile(filepath.Join("testdata", "real.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(list)) {
		fields := strings.Fields(line)
		if len(fields) != 2 {
			t.Fatalf("%q: want a module with its version, and a package", line)
		}
		if !*realPackages {
			continue
		}
		t.Run(strings.ReplaceAll(fields[0], "/", "_")+"_"+filepath.Base(fields[1]), func(t *testing.T) {
			moveReal(t, fields[0], fields[1])
		})
	}
}

func moveReal(t *testing.T, module, pkg string) {
	var downloaded struct{ Dir string }
	out := goIn(t, ".", "mod", "download", "-json", module)
	if err := json.Unmarshal(out, &downloaded); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(downloaded.Dir)); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	goIn(t, dir, "mod", "edit", "-require=github.com/pinwheel-cache/pinwheel@v0.0.0", "-replace=github.com/pinwheel-cache/pinwheel="+root)
	t.Setenv("GOFLAGS", "-mod=mod") // as its go.mod and go.sum lack what pinwheel needs
	goIn(t, dir, "list", "-deps", "-test", pinwheel, pkg)
	before := testIn(dir, pkg)
	m, err := move(dir, []string{pkg})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.write(); err != nil {
		t.Fatal(err)
	}
	changed, left := 0, 0
	for path := range m.texts {
		if f := m.files[path]; f != nil {
			changed, left = changed+f.changed, left+f.left
		}
	}
	after := testIn(dir, pkg)
	t.Logf("| %s | %s | %d | %d | %s | %s |", module, pkg, changed, left, said(before), said(after))
	if before == nil && after != nil {
		t.Errorf("its tests passed before it moved: %v", after)
	}
	if left > 0 || testing.Verbose() {
		var comments bytes.Buffer
		m.summary(&comments)
		t.Log("\n" + comments.String())
	}
}

func said(err error) string {
	if err != nil {
		return "failed"
	}
	return "passed"
}

func testIn(dir, pkg string) error {
	cmd := exec.Command("go", "test", "-count=1", "-vet=off", "-timeout=5m", pkg)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out[max(0, len(out)-3000):])
	}
	return nil
}

func goIn(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, errors.String())
	}
	return out
}
