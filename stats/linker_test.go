package stats_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Every program with a cache links this package. One that never calls Handler must
// not get the template engine with it, because a program that can run a template
// also keeps every exported method of all its types.
func TestAProgramWithoutThePageHasNoTemplates(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	program := filepath.Join(t.TempDir(), "unserved")
	build := exec.Command("go", "build", "-o", program, "./testdata/unserved")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	linked, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	for _, function := range []string{"html/template.(*Template).Parse", "text/template.(*Template).Execute"} {
		if bytes.Contains(linked, []byte(function)) {
			t.Errorf("%s is linked", function)
		}
	}
}
