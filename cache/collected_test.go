package cache

import (
	"sync/atomic"
	"testing"
	"time"
	"weak"
)

// TestUnreferencedTellsWhatExpires checks that a cache that nobody holds stays until
// OnRemove was called for all entries that wait to expire, and is then collected.
func TestUnreferencedTellsWhatExpires(t *testing.T) {
	var told atomic.Int32
	w := func() weak.Pointer[Cache[int, int]] {
		c := Must(Options[int, int]{OnRemove: func(Event[int, int]) { told.Add(1) }})
		for k := range 100 {
			c.SetWithExpire(k, k, 300*time.Millisecond)
		}
		c.Set(-1, 0) // never expires, and is not told
		return weak.Make(c)
	}()
	if !collectedUntil(func() bool { return told.Load() == 100 }) {
		t.Errorf("OnRemove was told of %d values of 100", told.Load())
	}
	if !collectedUntil(func() bool { return w.Value() == nil }) {
		t.Error("then it is not collected")
	}
}
