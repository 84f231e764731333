package cache

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// The rules of Refresh, Grace and Patience, a test for each: TestFreshnessN is that of
// rule N in docs/guarantees.md.

// A database is what the loads of these tests ask. It answers with the number of times
// that it was asked.
type database struct {
	asked   int
	takes   time.Duration
	fails   error
	context context.Context // of the last load
}

func (d *database) fetch(ctx context.Context) (int, error) {
	d.asked++
	d.context = ctx
	value := d.asked
	time.Sleep(d.takes)
	return value, d.fails
}

// A freshCache is a cache in front of a database.
type freshCache struct {
	*Cache[string, int]
	t      *testing.T
	db     database
	events []Event[string, int]
}

// freshTest runs a test with a cache whose values are due after 30 s, expire after 60 and
// are in Grace for 60 more.
func freshTest(t *testing.T, test func(c *freshCache), change ...func(o *Options[string, int])) {
	synctest.Test(t, func(t *testing.T) {
		c := &freshCache{t: t}
		o := Options[string, int]{Expire: time.Minute, Refresh: 0.5, Grace: time.Minute}
		o.OnRemove = func(e Event[string, int]) { c.events = append(c.events, e) }
		for _, change := range change {
			change(&o)
		}
		c.Cache = Must(o)
		test(c)
		synctest.Wait()
		if err := c.check(); err != nil {
			t.Error(err)
		}
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

func patience(o *Options[string, int]) { o.Patience = time.Second }

// take wants a value of "k" by TakeCtx, at once, and lets what it began end.
func (c *freshCache) take(want int) {
	c.t.Helper()
	c.takeIn(0, want, nil)
	synctest.Wait()
}

// takeIn wants a value, or an error, of "k" after some time.
func (c *freshCache) takeIn(d time.Duration, want int, wantErr error) {
	c.t.Helper()
	began := time.Now()
	v, err := c.TakeCtx(c.t.Context(), "k", c.db.fetch)
	if err != wantErr || err == nil && v != want || time.Since(began) != d {
		c.t.Errorf("TakeCtx = %d, %v after %v; want %d, %v after %v", v, err, time.Since(began), want, wantErr, d)
	}
}

// asked wants the database to have been asked so often.
func (c *freshCache) asked(want int) {
	c.t.Helper()
	synctest.Wait()
	if c.db.asked != want {
		c.t.Errorf("the database was asked %d times, want %d", c.db.asked, want)
	}
}

// removed wants these removals, and forgets them.
func (c *freshCache) removed(want ...Event[string, int]) {
	c.t.Helper()
	synctest.Wait()
	if fmt.Sprint(c.events) != fmt.Sprint(want) {
		c.t.Errorf("removed: %v, want %v", c.events, want)
	}
	c.events = nil
}

var errDown = errors.New("down")

// TestFreshness1: a value is fresh until its deadline, then in Grace, then gone; in Grace
// it is there for the Takes alone.
func TestFreshness1(t *testing.T) {
	freshTest(t, func(c *freshCache) {
		c.take(1)
		c.db.fails = errDown
		time.Sleep(time.Minute - 1)
		if v, ok := c.Get("k"); v != 1 || !ok {
			t.Errorf("Get = %d, %v before the deadline", v, ok)
		}
		time.Sleep(time.Nanosecond)
		if _, ok := c.Get("k"); ok {
			t.Error("Get finds a value in Grace")
		}
		if _, ok := c.Peek("k"); ok {
			t.Error("Peek finds a value in Grace")
		}
		if _, ok := c.TTL("k"); ok {
			t.Error("TTL finds a value in Grace")
		}
		for range c.All() {
			t.Error("All yields a value in Grace")
		}
		if c.Touch("k", time.Hour) {
			t.Error("Touch finds a value in Grace")
		}
		if _, ok := c.Compute("k", func(_ int, ok bool) (int, Op) {
			if ok {
				t.Error("Compute finds a value in Grace")
			}
			return 0, OpKeep
		}); ok {
			t.Error("Compute returns a value in Grace")
		}
		c.take(1)
		if v, err := c.Take("k", func() (int, error) { return 0, errDown }); v != 1 || err != nil {
			t.Errorf("Take = %d, %v", v, err)
		}
		if v, err := c.TakeWith(t.Context(), "k", func(context.Context, *Load[int]) (int, error) { return 0, errDown }); v != 1 || err != nil {
			t.Errorf("TakeWith = %d, %v", v, err)
		}
		time.Sleep(time.Minute - 1)
		c.take(1)
		time.Sleep(time.Nanosecond)
		c.takeIn(0, 0, errDown)
		c.removed(Event[string, int]{"k", 1, Expired})
	}, func(o *Options[string, int]) { o.Refresh = 0 })
	freshTest(t, func(c *freshCache) {
		c.take(1)
		time.Sleep(time.Minute)
		if v, loaded := c.GetOrSet("k", 7); v != 7 || loaded {
			t.Errorf("GetOrSet = %d, %v in Grace", v, loaded)
		}
		c.removed(Event[string, int]{"k", 1, Replaced})
	})
}

// TestFreshness2: a refresh begins at the first TakeCtx or TakeWith behind that fraction
// of the entry's own TTL, not by a Get, a Take or a timer, and Jitter applies.
func TestFreshness2(t *testing.T) {
	freshTest(t, func(c *freshCache) {
		c.take(1)
		time.Sleep(30*time.Second - time.Millisecond)
		c.take(1)
		time.Sleep(time.Millisecond)
		c.Get("k")
		c.Peek("k")
		c.Take("k", func() (int, error) { t.Error("Take refreshes"); return 0, nil })
		c.asked(1)
		c.take(1)
		c.asked(2)
		c.take(2)
		c.SetWithExpire("k", 10, time.Hour)
		time.Sleep(30*time.Minute - time.Millisecond)
		c.take(10)
		c.asked(2)
		time.Sleep(time.Millisecond)
		c.take(10)
		c.take(3)
	})
	freshTest(t, func(c *freshCache) {
		for i := range 200 {
			c.Set(fmt.Sprint(i), i)
		}
		refreshed := func() (n int) {
			for i := range 200 {
				c.TakeCtx(t.Context(), fmt.Sprint(i), func(context.Context) (int, error) { n++; return i, nil })
				synctest.Wait()
			}
			return n
		}
		time.Sleep(15 * time.Second)
		early := refreshed()
		time.Sleep(30 * time.Second)
		if late := refreshed(); early < 10 || early > 150 || late < 50 {
			t.Errorf("%d of 200 were due after 15 s, and %d 30 s later", early, late)
		}
	}, func(o *Options[string, int]) { o.Jitter = 0.5 })
}

// TestFreshness3: a refresh is one load of its key, and a change of that wins.
func TestFreshness3(t *testing.T) {
	for name, change := range map[string]struct {
		do    func(c *freshCache)
		value int
		has   bool
	}{
		"Set":       {func(c *freshCache) { c.Set("k", 10) }, 10, true},
		"Del":       {func(c *freshCache) { c.Del("k") }, 0, false},
		"Clear":     {func(c *freshCache) { c.Clear() }, 0, false},
		"Compute":   {func(c *freshCache) { c.Compute("k", func(v int, _ bool) (int, Op) { return v + 10, OpSet }) }, 11, true},
		"Swap":      {func(c *freshCache) { c.Swap("k", 10) }, 10, true},
		"GetAndDel": {func(c *freshCache) { c.GetAndDel("k") }, 0, false},
		"DelFunc":   {func(c *freshCache) { c.DelFunc(func(string, int) bool { return true }) }, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			freshTest(t, func(c *freshCache) {
				c.take(1)
				time.Sleep(31 * time.Second)
				c.db.takes = time.Second
				for range 10 {
					c.takeIn(0, 1, nil)
				}
				c.asked(2)
				change.do(c)
				time.Sleep(2 * time.Second)
				if v, ok := c.Peek("k"); v != change.value || ok != change.has {
					t.Errorf("after %s and a refresh: %d, %v", name, v, ok)
				}
				if n := c.renewals.dropped.Load(); n != 1 {
					t.Errorf("%d refreshes were dropped", n)
				}
			})
		})
	}
}

// TestFreshness4: callers during a refresh get the present value at once, and those that
// have none join it.
func TestFreshness4(t *testing.T) {
	freshTest(t, func(c *freshCache) {
		c.take(1)
		c.db.takes = 100 * time.Second
		time.Sleep(59 * time.Second)
		c.takeIn(0, 1, nil)
		time.Sleep(30 * time.Second) // in Grace
		c.takeIn(0, 1, nil)
		time.Sleep(40 * time.Second) // gone
		c.takeIn(30*time.Second, 2, nil)
		c.asked(2)
	})
}

// TestFreshness5: a refresh that fails changes nothing, and the next follows after a pause
// that doubles, and begins anew with success.
func TestFreshness5(t *testing.T) {
	freshTest(t, func(c *freshCache) {
		c.take(1)
		c.db.fails = errDown
		time.Sleep(30 * time.Minute)
		left, _ := c.TTL("k")
		for pause := 36 * time.Second; pause < 10*time.Minute; pause *= 2 {
			before := c.db.asked
			c.take(1)
			c.asked(before + 1)
			time.Sleep(pause - time.Second)
			c.take(1)
			c.asked(before + 1)
			time.Sleep(pause/4 + time.Second)
		}
		if now, _ := c.TTL("k"); left-now > 30*time.Minute || left-now < 10*time.Minute {
			t.Errorf("a refresh that failed changed the deadline: %v left, then %v", left, now)
		}
		c.db.fails = nil
		c.take(1)
		value := c.db.asked
		c.take(value)
		c.db.fails = errDown
		time.Sleep(30 * time.Minute)
		c.take(value)
		time.Sleep(45 * time.Second)
		c.take(value)
		c.asked(value + 2)
		if ok, failed := c.renewals.ok.Load(), c.renewals.failed.Load(); ok != 1 || failed != uint64(c.db.asked-2) {
			t.Errorf("%d refreshes succeeded, and %d failed", ok, failed)
		}
	}, func(o *Options[string, int]) { o.Expire = time.Hour })
}

// TestFreshness6: if a load fails, a value in Grace stands in; at the end of Grace the
// error counts.
func TestFreshness6(t *testing.T) {
	freshTest(t, func(c *freshCache) {
		c.take(1)
		time.Sleep(time.Minute)
		c.db.fails = errDown
		c.db.takes = 500 * time.Millisecond
		c.takeIn(500*time.Millisecond, 1, nil)
		c.takeIn(0, 1, nil) // it has failed just now
		c.asked(2)
		time.Sleep(time.Second)
		c.db.takes = 3 * time.Second
		c.takeIn(time.Second, 1, nil) // Patience
		time.Sleep(50 * time.Second)
		c.db.takes = 500 * time.Millisecond
		c.db.fails = nil
		c.takeIn(500*time.Millisecond, 4, nil)
		time.Sleep(2*time.Minute - 100*time.Millisecond)
		c.db.fails = errDown
		c.takeIn(500*time.Millisecond, 0, errDown) // Grace has ended meanwhile
	}, patience)
	freshTest(t, func(c *freshCache) {
		c.take(1)
		time.Sleep(time.Minute)
		c.db.takes = 10 * time.Second
		c.takeIn(time.Second, 1, nil)
		time.Sleep(2 * time.Second)
		if c.db.context.Err() != context.DeadlineExceeded {
			t.Error("the load has no Timeout")
		}
		c.takeIn(0, 1, nil) // the load has failed, though the fetch goes on
		time.Sleep(10 * time.Second)
		c.asked(2)
		c.takeIn(0, 2, nil)
	}, patience, func(o *Options[string, int]) { o.Timeout = 2 * time.Second })
}
