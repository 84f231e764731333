package cache

import (
	"errors"
	"testing"

	"github.com/pinwheel-cache/pinwheel/internal/hash"
)

// fourShards returns a cache without a limit whose keys are in shard key mod 4.
func fourShards() *Cache[int, int] {
	c := Must(Options[int, int]{})
	c.setShards(4)
	c.common.hasher = hash.FromFunc(func(k int) uint64 { return uint64(k&3) << 8 })
	return c
}

// TestResizeRefuses checks that a bad limit is an ErrArgument and changes nothing.
func TestResizeRefuses(t *testing.T) {
	counted := Must(Options[int, int]{Limit: 2})
	weighed := Must(Options[int, int]{MaxWeight: 2, Weigh: func(_, v int) uint32 { return uint32(v) }})
	for _, err := range []error{counted.Resize(-1), weighed.Resize(1), weighed.ResizeWeight(0), counted.ResizeWeight(1)} {
		if !errors.Is(err, ErrArgument) {
			t.Errorf("Resize = %v, want an ErrArgument", err)
		}
	}
	if got := counted.Stats().Limit; got != 2 {
		t.Errorf("the limit is %d, want 2", got)
	}
}
