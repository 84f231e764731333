package main_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestVettool has go vet use the program, as its documentation says.
func TestVettool(t *testing.T) {
	tool := filepath.Join(t.TempDir(), "pinwheel-vet")
	if out, err := exec.Command("go", "build", "-o", tool, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for pattern, want := range map[string]string{
		"./beforecommit": "Del comes before Commit",
		"./duration":     "Expire gets 3.6µs",
	} {
		vet := exec.Command("go", "vet", "-vettool="+tool, pattern)
		vet.Dir = filepath.Join("checks", "testdata")
		if out, err := vet.CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, want a finding %q\n%s", pattern, err, want, out)
		}
		off := exec.Command("go", "vet", "-vettool="+tool, "-"+pattern[2:]+"=false", pattern)
		off.Dir = vet.Dir
		if out, err := off.CombinedOutput(); err != nil {
			t.Errorf("%s with the check turned off: %v\n%s", pattern, err, out)
		}
	}
}
