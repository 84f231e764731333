package stats_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestAProgramWithoutThePageHasNoAssets checks that a program that never calls Handler does not
// contain the page: every program with a cache links this package.
func TestAProgramWithoutThePageHasNoAssets(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	unserved, served := link(t, "unserved"), link(t, "served")
	for _, file := range assetFiles(t) {
		asset, err := os.ReadFile(file)
		must(t, err)
		line := longestLine(asset)
		if bytes.Contains(unserved, line) {
			t.Errorf("%s is linked, though nobody calls Handler", file)
		}
		if !bytes.Contains(served, line) {
			t.Errorf("%s is not linked where somebody calls Handler: does this test look for the right thing?", file)
		}
	}
}

// link returns a program below testdata.
func link(t *testing.T, name string) []byte {
	t.Helper()
	program := filepath.Join(t.TempDir(), name)
	build := exec.Command("go", "build", "-o", program, "./testdata/"+name)
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	linked, err := os.ReadFile(program)
	must(t, err)
	return linked
}

func longestLine(text []byte) (longest []byte) {
	for line := range bytes.Lines(text) {
		if len(line) > len(longest) {
			longest = line
		}
	}
	return longest
}
