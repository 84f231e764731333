package cache

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// wantEntry expects what an Entry tells of the value 1 of "k".
func wantEntry(t *testing.T, when string, c *Cache[string, int], ttl, age time.Duration, due bool) {
	t.Helper()
	e, ok := c.Entry("k")
	if want := (Entry[string, int]{"k", 1, ttl, e.Age, due}); e != want || ok != (ttl > 0) || (e.Age-age).Abs() >= 17*time.Millisecond {
		t.Errorf("%s: Entry = %+v, %t; want %+v, of an age of %v", when, e, ok, want, age)
	}
}

// TestEntryTellsHowFresh checks what Entry and Entries tell of a value in each part of its life.
//
// Catches: a value in grace that cannot be read without a load, or that counts as live; one that
// is due and not told so, also while a load is under way, after one that failed and when it could
// not begin; an age that a Touch makes new.
func TestEntryTellsHowFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[string, int]{Expire: time.Minute, Refresh: 0.5, Grace: time.Hour, Ages: true, MaxLoads: 1})
		defer c.Close(t.Context())
		take := func(takes time.Duration) {
			t.Helper()
			v, err := c.TakeCtx(t.Context(), "k", func(context.Context) (int, error) {
				time.Sleep(takes)
				return 0, errors.New("down")
			})
			if v != 1 || err != nil {
				t.Errorf("TakeCtx = %d, %v", v, err)
			}
		}
		c.Set("k", 1)
		wantEntry(t, "new", c, time.Minute, 0, false)
		time.Sleep(29 * time.Second)
		wantEntry(t, "fresh", c, 31*time.Second, 29*time.Second, false)
		time.Sleep(time.Second)
		wantEntry(t, "due", c, 30*time.Second, 30*time.Second, true)
		for e := range c.Entries() {
			if e.Value != 1 || e.TTL != 30*time.Second || !e.Due {
				t.Errorf("Entries yields %+v", e)
			}
		}
		go c.Take("other", func() (int, error) { time.Sleep(time.Second); return 2, nil })
		synctest.Wait()
		take(0) // no permit is free
		wantEntry(t, "skipped", c, 30*time.Second, 30*time.Second, true)
		time.Sleep(2 * time.Second)
		take(time.Second)
		synctest.Wait()
		wantEntry(t, "renewed", c, 28*time.Second, 32*time.Second, true)
		time.Sleep(time.Second)
		synctest.Wait()
		wantEntry(t, "after a failure", c, 27*time.Second, 33*time.Second, true)
		time.Sleep(27*time.Second + 1)
		wantEntry(t, "in grace", c, -1, time.Minute, true)
		time.Sleep(time.Minute - 1)
		wantEntry(t, "in grace for long", c, -time.Minute, 2*time.Minute, true)
		for e := range c.Entries() {
			if e.Key == "k" {
				t.Errorf("Entries yields %+v in grace", e)
			}
		}
		if left, ok := c.TTL("k"); left != 0 || ok {
			t.Errorf("TTL = %v, %t in grace", left, ok)
		}
		if s := c.Stats(); s.Loads.Failed.Count() != 1 {
			t.Errorf("%d loads have failed: Entry has begun one", s.Loads.Failed.Count())
		}
		time.Sleep(time.Hour)
		if e, ok := c.Entry("k"); e != (Entry[string, int]{Key: "k"}) || ok {
			t.Errorf("Entry = %+v, %t after grace", e, ok)
		}
		c.SetWithExpire("k", 1, 0)
		time.Sleep(time.Second)
		c.Touch("k", 2*time.Hour)
		wantEntry(t, "touched", c, 2*time.Hour, time.Second, false)
		c.Expire("k")
		wantEntry(t, "expired by a call", c, -1, time.Second, true)
	})
}

// TestEntryOfUnchanged checks that a value which a load has confirmed is as old as that load.
func TestEntryOfUnchanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[string, int]{Expire: time.Minute, Grace: time.Hour, Patience: time.Second, Ages: true})
		defer c.Close(t.Context())
		c.Set("k", 1)
		time.Sleep(2 * time.Minute)
		_, _ = c.TakeWith(t.Context(), "k", func(_ context.Context, l *Load[int]) (int, error) {
			l.Unchanged = true
			return 0, nil
		})
		wantEntry(t, "unchanged", c, time.Minute, 0, false)
	})
}

// TestEntryWithoutOptions checks what an Entry tells without Refresh, Grace and Ages.
func TestEntryWithoutOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[string, int]{Expire: time.Minute})
		c.Set("k", 1)
		wantEntry(t, "new", c, time.Minute, 0, false)
		time.Sleep(time.Minute)
		if e, ok := c.Entry("k"); e != (Entry[string, int]{Key: "k"}) || ok {
			t.Errorf("Entry = %+v, %t without grace", e, ok)
		}
		c.SetWithExpire("k", 1, 0)
		wantEntry(t, "for ever", c, math.MaxInt64, 0, false)
	})
}
