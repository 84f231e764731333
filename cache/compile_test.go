package cache_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestAUserCompilesOneCache checks that a package that uses one cache compiles no other
// generic code: no cache of other types, and not the registry of package stats.
func TestAUserCompilesOneCache(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a package")
	}
	archive := filepath.Join(t.TempDir(), "user.a")
	if output, err := exec.Command("go", "build", "-o", archive, "./testdata/user").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	symbols, err := exec.Command("go", "tool", "nm", archive).Output()
	if err != nil {
		t.Fatal(err)
	}
	own := 0
	methods := regexp.MustCompile(` T github\.com/pinwheel-cache/pinwheel/(cache|stats)\.\(\*\w+\[(.*)\]\)`)
	for line := range strings.Lines(string(symbols)) {
		switch types := methods.FindStringSubmatch(line); {
		case types == nil:
		case strings.Contains(types[2], "user.") && !strings.Contains(types[2], "rror"): // nor one of errors
			own++
		default:
			t.Errorf("compiled too: %s", line)
		}
	}
	if own < 100 {
		t.Errorf("%d methods of its own cache: does this test look for the right thing?", own)
	}
}
