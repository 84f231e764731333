package acceptance

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// Catches: a value past its deadline that other methods than the Takes find; one that does
// not stand in, or does so for ever. The rest is cache.TestFreshness1 to 21.
func TestFreshness(t *testing.T) {
	Bubble(t, "in grace for the Takes alone", func(t *testing.T) {
		errDown := errors.New("down")
		take := func(c *cache.Cache[string, int]) (int, error) {
			return c.TakeCtx(t.Context(), "k", func(context.Context) (int, error) { return 0, errDown })
		}
		c := New(t, cache.Options[string, int]{Expire: time.Minute, Refresh: 0.5, Grace: time.Hour})
		c.Set("k", 1)
		time.Sleep(time.Minute)
		if v, ok := c.Get("k"); ok {
			t.Errorf("Get = %d in grace", v)
		}
		if v, ok := c.Peek("k"); ok {
			t.Errorf("Peek = %d in grace", v)
		}
		if c.Touch("k", time.Minute) {
			t.Error("Touch found a value in grace")
		}
		for range c.All() {
			t.Error("All yields a value in grace")
		}
		if v, err := take(c); v != 1 || err != nil {
			t.Errorf("TakeCtx = %d, %v; want 1, which stands in", v, err)
		}
		synctest.Wait()
		time.Sleep(time.Hour)
		if v, err := take(c); !errors.Is(err, errDown) {
			t.Errorf("TakeCtx = %d, %v after grace, want the error", v, err)
		}
	})
}
