package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

// Catches: an error that only one platform has, in a file for it, a dependency or a test, and
// that typecheck misses.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":            "module example.com/m\n\ngo 1.25\n",
		"a.go":              "package m\n\nimport \"example.com/m/b\"\n\nvar A = b.B()\n",
		"a_test.go":         "package m\n\nvar a int = A\n",
		"a_windows_test.go": "package m\n\nvar w string = A\n",
		"b/b.go":            "package b\n\nfunc B() int { return c }\n",
		"b/c_unix.go":       "//go:build unix\n\npackage b\n\nconst c = 1\n",
	} {
		path := filepath.Join(dir, name)
		settle.Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		settle.Must(t, os.WriteFile(path, []byte(text), 0o644))
	}
	for platform, want := range map[string][]string{
		"linux":   nil,
		"darwin":  nil,
		"windows": {"undefined: c", "cannot use A"},
	} {
		n, errs, err := check(dir, append(os.Environ(), "GOOS="+platform, "GOWORK=off"), "./...")
		if err != nil || n < 3 {
			t.Errorf("%s: %d packages, error %v", platform, n, err)
		}
		text := ""
		for _, err := range errs {
			text += err.Error() + "\n"
		}
		if len(want) == 0 && text != "" {
			t.Errorf("%s: %s", platform, text)
		}
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s: no %q in %q", platform, w, text)
			}
		}
	}
}
