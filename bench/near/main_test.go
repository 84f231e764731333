package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
)

// Catches: a measurement that does not run, or leaves a row out.
func TestShort(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results.md")
	err := run(true, file)
	if errors.Is(err, redistest.ErrNoServer) {
		t.Skip("NOT TESTED: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{"| plain cache |", "| near |", "| rueidis DoCache, JSON |", "| go-redis client-side caching, JSON |", "| go-zero core/stores/cache |", "| 2 | tracking |", "| 2 | publishing |"} {
		if !strings.Contains(string(text), row) {
			t.Errorf("no row %q", row)
		}
	}
}
