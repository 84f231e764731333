package snippets

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

// fipsProgram has each package that users import, but for those of go-zero, whose client of Redis does
// not start so.
const fipsProgram = `package main

import (
	_ "github.com/pinwheel-cache/pinwheel/cache/codec"
	_ "github.com/pinwheel-cache/pinwheel/lru"
	_ "github.com/pinwheel-cache/pinwheel/near/redis"
	_ "github.com/pinwheel-cache/pinwheel/otel"
	_ "github.com/pinwheel-cache/pinwheel/prometheus"
)

func main() {}
`

// Catches: a sum that FIPS 140 forbids, at the start of every program, as SHA-1 for a script was.
func TestStartsWithFIPS140Only(t *testing.T) {
	file := filepath.Join(t.TempDir(), "main.go")
	settle.Must(t, os.WriteFile(file, []byte(fipsProgram), 0o600))
	run := exec.Command("go", "run", file)
	run.Env = append(os.Environ(), "GODEBUG=fips140=only")
	if out, err := run.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
