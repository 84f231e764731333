package acceptance

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// Refresh reloads values before they expire. With Grace, old values stand in for loads that are
// slow or fail; only the Takes return them, and a change of the key wins over a load.
func TestFreshness(t *testing.T) {
	Bubble(t, "a value that is due is loaded anew, and nobody waits", dueIsRenewed)
	Bubble(t, "in grace for the Takes alone", graceIsForTakes)
	Bubble(t, "a caller waits as long as its patience", patienceEnds)
	for name, change := range map[string]func(c *cache.Cache[string, int]){
		"Del":   func(c *cache.Cache[string, int]) { c.Del("k") },
		"Clear": func(c *cache.Cache[string, int]) { c.Clear() },
	} {
		Bubble(t, name+" wins over a refresh", func(t *testing.T) { changeWins(t, change) })
	}
	Bubble(t, "an error that is kept", errorIsKept)
}

var errDown = errors.New("down")

// freshly returns a cache whose values live for a minute, are due for a refresh after half
// of it, and may stand in for an hour. It has stored 1 under "k".
func freshly(t *testing.T, change ...func(*cache.Options[string, int])) *cache.Cache[string, int] {
	o := cache.Options[string, int]{Expire: time.Minute, Refresh: 0.5, Grace: time.Hour}
	for _, f := range change {
		f(&o)
	}
	c := New(t, o)
	c.Set("k", 1)
	return c
}

// wantTake calls Take for "k" with a fetch that lasts takes and returns value, or fails if value
// is 0. It expects want, after exactly the time after.
func wantTake(t *testing.T, c *cache.Cache[string, int], takes time.Duration, value, want int, after time.Duration) {
	t.Helper()
	began := time.Now()
	got, err := c.TakeCtx(t.Context(), "k", func(context.Context) (int, error) {
		time.Sleep(takes)
		if value == 0 {
			return 0, errDown
		}
		return value, nil
	})
	if got != want || err != nil || time.Since(began) != after {
		t.Errorf("TakeCtx = %d, %v after %v; want %d after %v", got, err, time.Since(began), want, after)
	}
}

// Catches: a refresh that does not begin, that its caller waits for, or whose value is not
// stored.
func dueIsRenewed(t *testing.T) {
	c := freshly(t)
	time.Sleep(29 * time.Second)
	wantTake(t, c, 0, 2, 1, 0)
	time.Sleep(2 * time.Second)
	wantTake(t, c, time.Second, 3, 1, 0)
	time.Sleep(2 * time.Second)
	if v, ok := c.Get("k"); v != 3 || !ok {
		t.Errorf("Get = %d, %t after the refresh, want 3", v, ok)
	}
}

// Catches: a value past its deadline that other methods than the Takes find; one that does
// not stand in, or does so for ever.
func graceIsForTakes(t *testing.T) {
	c := freshly(t)
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
	wantTake(t, c, 0, 0, 1, 0)
	synctest.Wait()
	time.Sleep(time.Hour)
	if v, err := c.TakeCtx(t.Context(), "k", func(context.Context) (int, error) { return 0, errDown }); !errors.Is(err, errDown) {
		t.Errorf("TakeCtx = %d, %v after grace, want the error", v, err)
	}
}

// Catches: a caller that does not wait for a load that is fast enough, or that waits on.
func patienceEnds(t *testing.T) {
	c := freshly(t, func(o *cache.Options[string, int]) { o.Patience = time.Second })
	time.Sleep(2 * time.Minute)
	wantTake(t, c, time.Second/2, 2, 2, time.Second/2)
	time.Sleep(2 * time.Minute)
	wantTake(t, c, time.Minute, 3, 2, time.Second)
	time.Sleep(time.Minute)
	if v, ok := c.Get("k"); v != 3 || !ok {
		t.Errorf("Get = %d, %t: the load has ended, want 3", v, ok)
	}
}

// Catches: a refresh that undoes a change made since it began.
func changeWins(t *testing.T, change func(*cache.Cache[string, int])) {
	c := freshly(t)
	time.Sleep(31 * time.Second)
	wantTake(t, c, time.Second, 2, 1, 0)
	synctest.Wait()
	change(c)
	time.Sleep(2 * time.Second)
	if v, ok := c.Get("k"); ok {
		t.Errorf("Get = %d: the refresh was stored", v)
	}
}

// Catches: a kept error that is fetched again each time, or that outlives its time or a Set.
func errorIsKept(t *testing.T) {
	c := freshly(t, func(o *cache.Options[string, int]) {
		o.Negative = func(error) time.Duration { return 10 * time.Second }
	})
	fetches := 0
	take := func() error {
		_, err := c.TakeCtx(t.Context(), "nobody", func(context.Context) (int, error) { fetches++; return 0, errDown })
		return err
	}
	for range 3 {
		if err := take(); !errors.Is(err, errDown) || fetches != 1 {
			t.Errorf("TakeCtx: %v after %d fetches, want the kept error", err, fetches)
		}
	}
	time.Sleep(10 * time.Second)
	if err := take(); !errors.Is(err, errDown) || fetches != 2 {
		t.Errorf("TakeCtx: %v after %d fetches, want a second one", err, fetches)
	}
	c.Set("nobody", 7)
	if err := take(); err != nil {
		t.Errorf("TakeCtx after a Set: %v", err)
	}
}
