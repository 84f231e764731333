package cache_test

import (
	"flag"
	"testing"

	"github.com/pinwheel-cache/pinwheel/internal/settle"

	_ "pgregory.net/rapid" // has the flag
)

func TestMain(m *testing.M) {
	// Long runs of operations, so that arrays grow and shrink on the way.
	if err := flag.Set("rapid.steps", "100"); err != nil {
		panic(err)
	}
	settle.VerifyTestMain(m)
}
