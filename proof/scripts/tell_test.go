// Package scripts tests scripts/tell, which shows what the tests of all modules say.
package scripts

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pinwheel-cache/pinwheel/proof/internal/harness"
)

// said is an output of go test -v: of a package that passes, one that fails, and one without
// tests.
const said = `=== RUN   TestA
    a_test.go:3: no server: install one
--- SKIP: TestA (0.00s)
=== RUN   TestB
=== RUN   TestB/x
=== PAUSE TestB/x
=== RUN   TestB/y
=== PAUSE TestB/y
=== CONT  TestB/x
    b_test.go:4: hello
=== CONT  TestB/y
    b_test.go:5: no server: install one
=== NAME  TestB/x
    b_test.go:6: still here
--- PASS: TestB (1.00s)
    --- PASS: TestB/x (0.00s)
    --- SKIP: TestB/y (1.00s)
PASS
ok  	example.com/good	1.003s
=== RUN   TestC
    c_test.go:7: want 1
--- FAIL: TestC (0.00s)
=== RUN   TestD
    d_test.go:8: no server: install one
--- SKIP: TestD (0.00s)
=== RUN   TestE
    e_test.go:9: no browser
--- SKIP: TestE (0.00s)
=== RUN   TestF
    f_test.go:9: no server: install one
--- SKIP: TestF (0.00s)
FAIL
FAIL	example.com/bad	0.003s
?   	example.com/none	[no test files]
FAIL
`

const told = `ok  	example.com/good	1.003s
    c_test.go:7: want 1
--- FAIL: TestC (0.00s)
    d_test.go:8: no server: install one
    e_test.go:9: no browser
    f_test.go:9: no server: install one
FAIL
FAIL	example.com/bad	0.003s
?   	example.com/none	[no test files]
FAIL

SKIPPED: no server: install one
	example.com/good TestA
	example.com/good TestB/y
	example.com/bad TestD
	and 1 more

SKIPPED: no browser
	example.com/bad TestE
`

// Catches: a skipped test that is not told of, or with another's reason; a failure whose output
// or status is lost; what a package that passes has printed.
func TestTell(t *testing.T) {
	file := filepath.Join(t.TempDir(), "said")
	if err := os.WriteFile(file, []byte(said), 0o600); err != nil {
		t.Fatal(err)
	}
	tell := exec.Command(harness.Tree+"/scripts/tell", "sh", "-c", `cat "$0"; exit 3`, file)
	tell.Stderr = os.Stderr
	out, _ := tell.Output() // the status is below
	if string(out) != told {
		t.Errorf("scripts/tell says\n%s\nwant\n%s", out, told)
	}
	if tell.ProcessState.ExitCode() != 3 {
		t.Errorf("%v, want the status of the command, 3", tell.ProcessState)
	}
}
