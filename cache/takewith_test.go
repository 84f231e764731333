package cache

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestTakeWithAfterAChange checks that after a change of the key the TTL that a load set
// is dropped with its value.
func TestTakeWithAfterAChange(t *testing.T) {
	c := Must(Options[string, int]{})
	c.TakeWith(t.Context(), "k", func(_ context.Context, l *Load[int]) (int, error) {
		c.Set("k", 1)
		l.Expire = -1
		return 7, nil
	})
	if v, ok := c.Peek("k"); v != 1 || !ok {
		t.Errorf("a load that is not to be kept undid a Set: %d, %v", v, ok)
	}
}

// TestUnchangedWithoutOld checks that Unchanged without Old is an error that says what to
// do, and that nothing is stored.
func TestUnchangedWithoutOld(t *testing.T) {
	c := Must(Options[string, int]{})
	_, err := c.TakeWith(t.Context(), "k", func(_ context.Context, l *Load[int]) (int, error) {
		l.Unchanged = true
		return 7, nil
	})
	if !errors.Is(err, errUnchanged) || c.Len() != 0 {
		t.Errorf("%v, and %d entries", err, c.Len())
	}
}

// TestTakeMissed checks that a Get and the TakeMissed after it count as one get, that a
// hit allocates nothing, and that a value stored between the two is found.
func TestTakeMissed(t *testing.T) {
	c := Must(Options[string, int]{})
	value := 7
	take := func(key string) int {
		if v, ok := c.Get(key); ok {
			return v
		}
		v, err := c.TakeMissed(t.Context(), key, func(_ context.Context, l *Load[int]) (int, error) {
			l.Expire = time.Hour
			return value, nil
		})
		if err != nil {
			t.Error(err)
		}
		return v
	}
	if v := take("k"); v != 7 {
		t.Errorf("a miss gives %d", v)
	}
	if n := testing.AllocsPerRun(10, func() { take("k") }); n != 0 {
		t.Errorf("a hit allocates %v times", n)
	}
	if s := c.Stats(); s.Hits != 11 || s.Misses != 1 || s.Loads.OK.Count() != 1 {
		t.Errorf("%d hits, %d misses, %d loads; want 11, 1 and 1", s.Hits, s.Misses, s.Loads.OK.Count())
	}
	c.Set("other", 8)
	if v, err := c.TakeMissed(t.Context(), "other", func(context.Context, *Load[int]) (int, error) { return 9, nil }); v != 8 || err != nil {
		t.Errorf("a key that has a value by now gives %d, %v", v, err)
	}
}
