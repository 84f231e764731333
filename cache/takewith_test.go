package cache

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestTakeWithChoosesTheTTL: the load's TTL takes the place of that of the options, and a
// negative one keeps nothing.
func TestTakeWithChoosesTheTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[string, int]{Expire: time.Minute})
		take := func(key string, expire time.Duration) {
			v, err := c.TakeWith(t.Context(), key, func(_ context.Context, l *Load[int]) (int, error) {
				if l.Expire != time.Minute || l.HasOld || l.Old != 0 {
					t.Errorf("the load is told %+v", *l)
				}
				l.Expire = expire
				return 7, nil
			})
			if v != 7 || err != nil {
				t.Errorf("TakeWith = %d, %v", v, err)
			}
		}
		has := func(key string) bool { _, ok := c.Peek(key); return ok }
		take("hour", time.Hour)
		take("ever", 0)
		take("not", -1)
		if has("not") {
			t.Error("a value that was not to be kept is kept")
		}
		time.Sleep(time.Hour - 1)
		if !has("hour") || !has("ever") {
			t.Error("a value has gone before its TTL")
		}
		time.Sleep(time.Nanosecond)
		if has("hour") || !has("ever") {
			t.Error("the TTL of a load is not what it said")
		}
	})
}

// TestTakeWithAfterAChange: what a load says about a key is dropped with its value.
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

// TestUnchangedWithoutOld is an error that says what to do, and nothing is stored.
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
