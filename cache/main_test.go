package cache

import (
	"flag"
	"testing"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// Long runs of operations, so that arrays grow and shrink on the way.
	if err := flag.Set("rapid.steps", "100"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(settle.Main(m))
}
