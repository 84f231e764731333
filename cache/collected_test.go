package cache_test

import (
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

// TestUnreferencedTellsWhatExpires checks that a cache that nobody holds stays until
// OnRemove was called for all entries that wait to expire, and is then collected.
func TestUnreferencedTellsWhatExpires(t *testing.T) {
	var told atomic.Int32
	w := func() weak.Pointer[cache.Cache[int, int]] {
		c := cache.Must(cache.Options[int, int]{OnRemove: func(cache.Event[int, int]) { told.Add(1) }})
		for k := range 100 {
			c.SetWithExpire(k, k, 300*time.Millisecond)
		}
		c.Set(-1, 0) // never expires, and is not told
		return weak.Make(c)
	}()
	if !settle.Collected(func() bool { return told.Load() == 100 }) {
		t.Errorf("OnRemove was told of %d values of 100", told.Load())
	}
	if !settle.Collected(func() bool { return w.Value() == nil }) {
		t.Error("then it is not collected")
	}
}
