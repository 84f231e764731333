package cache

import (
	"testing"
	"time"
)

// TestTouchIsUse checks that Touch keeps an entry from eviction, whether or not it moves
// the task of the entry.
func TestTouchIsUse(t *testing.T) {
	for name, ttl := range map[string]time.Duration{"task moved": 0, "task left alone": time.Hour} {
		c := Must(Options[int, int]{Limit: 2})
		c.SetWithExpire(1, 1, ttl)
		c.Set(2, 2)
		if !c.Touch(1, 2*time.Hour) {
			t.Fatalf("%s: not found", name)
		}
		c.Set(3, 3)
		if _, ok := c.Peek(1); !ok {
			t.Errorf("%s: an entry was touched, and evicted next", name)
		}
	}
}
