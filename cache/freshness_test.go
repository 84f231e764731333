package cache_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/stats"
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
	value, err := d.asked, d.fails
	time.Sleep(d.takes)
	return value, err
}

// A freshCache is a cache in front of a database.
type freshCache struct {
	*cache.Cache[string, int]
	t      *testing.T
	db     database
	mu     sync.Mutex // guards events: between OnRemove and removed there is only the fake time
	events []cache.Event[string, int]
}

// freshTest runs a test with a cache whose values are due after 30 s, expire after 60 and
// are in Grace for 60 more.
func freshTest(t *testing.T, test func(t *testing.T, c *freshCache), change ...func(o *cache.Options[string, int])) {
	synctest.Test(t, func(t *testing.T) {
		c := &freshCache{t: t}
		o := cache.Options[string, int]{Expire: time.Minute, Refresh: 0.5, Grace: time.Minute, Workers: 1}
		o.OnRemove = func(e cache.Event[string, int]) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.events = append(c.events, e)
		}
		for _, change := range change {
			change(&o)
		}
		c.Cache = cache.Must(o)
		test(t, c)
		synctest.Wait()
		cache.WantWhole(t, c.Cache)
		cache.MustClose(t, c.Cache)
	})
}

// agedTest is a freshTest that begins when the first value is that old.
func agedTest(t *testing.T, age time.Duration, test func(t *testing.T, c *freshCache), change ...func(o *cache.Options[string, int])) {
	freshTest(t, func(t *testing.T, c *freshCache) {
		c.take(1)
		time.Sleep(age)
		test(t, c)
	}, change...)
}

func patience(o *cache.Options[string, int]) { o.Patience = time.Second }

// take wants a value of "k" by TakeCtx, at once, and lets what it began end.
func (c *freshCache) take(want int) {
	c.t.Helper()
	c.takeIn(0, want, nil)
}

// takeIn wants a value, or an error, of "k" after some time.
func (c *freshCache) takeIn(d time.Duration, want int, wantErr error) {
	c.t.Helper()
	synctest.Wait() // what ends now has ended
	began := time.Now()
	v, err := c.TakeCtx(c.t.Context(), "k", c.db.fetch)
	if err != wantErr || err == nil && v != want || time.Since(began) != d {
		c.t.Errorf("TakeCtx = %d, %v after %v; want %d, %v after %v", v, err, time.Since(began), want, wantErr, d)
	}
	synctest.Wait() // so that the test may change db
}

// asked checks how often the database was asked.
func (c *freshCache) asked(want int) {
	c.t.Helper()
	synctest.Wait()
	if c.db.asked != want {
		c.t.Errorf("the database was asked %d times, want %d", c.db.asked, want)
	}
}

// removed wants these removals, and forgets them.
func (c *freshCache) removed(want ...cache.Event[string, int]) {
	c.t.Helper()
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if fmt.Sprint(c.events) != fmt.Sprint(want) {
		c.t.Errorf("removed: %v, want %v", c.events, want)
	}
	c.events = nil
}

var errDown = errors.New("down")

// TestFreshness1Stages: a value is fresh until its deadline, then in Grace, then gone; in Grace
// it is there for the Takes alone.
func TestFreshness1Stages(t *testing.T) {
	freshTest(t, func(t *testing.T, c *freshCache) {
		c.take(1)
		c.db.fails = errDown
		time.Sleep(time.Minute - 1)
		if v, ok := c.Get("k"); v != 1 || !ok {
			t.Errorf("Get = %d, %v before the deadline", v, ok)
		}
		time.Sleep(time.Nanosecond)
		for name, finds := range map[string]func() (int, bool){
			"Get":   func() (int, bool) { return c.Get("k") },
			"Peek":  func() (int, bool) { return c.Peek("k") },
			"TTL":   func() (int, bool) { _, ok := c.TTL("k"); return 0, ok },
			"All":   func() (int, bool) { n := len(maps.Collect(c.All())); return n, n > 0 },
			"Touch": func() (int, bool) { return 0, c.Touch("k", time.Hour) },
			"Compute": func() (int, bool) {
				return c.Compute("k", func(v int, ok bool) (int, cache.Op) {
					if ok {
						t.Errorf("Compute finds %d in Grace", v)
					}
					return 0, cache.OpKeep
				})
			},
		} {
			if v, ok := finds(); ok {
				t.Errorf("%s finds %d in Grace", name, v)
			}
		}
		c.take(1)
		if v, err := c.Take("k", func() (int, error) { return 0, errDown }); v != 1 || err != nil {
			t.Errorf("Take = %d, %v", v, err)
		}
		if v, err := cache.For(c.Cache).Take(t.Context(), "k", func(context.Context, *cache.Load[int]) (int, error) { return 0, errDown }); v != 1 || err != nil {
			t.Errorf("For(c).Take = %d, %v", v, err)
		}
		time.Sleep(time.Minute - 1)
		c.take(1)
		time.Sleep(time.Nanosecond)
		c.takeIn(0, 0, errDown)
		c.removed(cache.Event[string, int]{"k", 1, cache.Expired})
	}, func(o *cache.Options[string, int]) { o.Refresh = 0 })
}

// TestFreshness2Begins: a refresh begins at the first TakeCtx or TakeWith behind that fraction
// of the entry's own TTL, also with Jitter, not by a Get, a Take or a timer.
func TestFreshness2Begins(t *testing.T) {
	agedTest(t, 30*time.Second-time.Millisecond, func(t *testing.T, c *freshCache) {
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
	freshTest(t, func(t *testing.T, c *freshCache) {
		for i := range 200 {
			key := fmt.Sprint(i)
			c.Set(key, i)
			ttl, _ := c.TTL(key)
			fetched := 0
			take := func(want int) {
				t.Helper()
				_, _ = c.TakeCtx(t.Context(), key, func(context.Context) (int, error) { fetched++; return i, nil })
				if synctest.Wait(); fetched != want {
					t.Errorf("%d fetches, want %d, for a TTL of %v", fetched, want, ttl)
				}
			}
			time.Sleep(ttl*9/10 - time.Microsecond)
			take(0)
			time.Sleep(time.Microsecond)
			take(1)
		}
	}, func(o *cache.Options[string, int]) { o.Refresh, o.Jitter = 0.9, 0.5 })
}

// TestFreshness3IsOneLoad: a refresh is one load of its key, and a change of that wins.
func TestFreshness3IsOneLoad(t *testing.T) {
	for name, change := range map[string]struct {
		do    func(c *freshCache)
		value int
		has   bool
	}{
		"Set":   {func(c *freshCache) { c.Set("k", 10) }, 10, true},
		"Del":   {func(c *freshCache) { c.Del("k") }, 0, false},
		"Clear": {func(c *freshCache) { c.Clear() }, 0, false},
		"Compute": {func(c *freshCache) {
			c.Compute("k", func(v int, _ bool) (int, cache.Op) { return v + 10, cache.OpSet })
		}, 11, true},
		"Swap":      {func(c *freshCache) { c.Swap("k", 10) }, 10, true},
		"GetAndDel": {func(c *freshCache) { c.GetAndDel("k") }, 0, false},
		"DelFunc":   {func(c *freshCache) { c.DelFunc(func(string, int) bool { return true }) }, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			agedTest(t, 31*time.Second, func(t *testing.T, c *freshCache) {
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
				if n := c.Stats().Loads.Refreshes.Dropped; n != 1 {
					t.Errorf("%d refreshes were dropped", n)
				}
				if name == "Compute" { // it keeps the life, and so the next one is due
					c.takeIn(0, 11, nil)
					c.asked(3)
					time.Sleep(2 * time.Second)
				}
			})
		})
	}
}

// TestFreshness4OthersDoNotWait: callers during a refresh get the present value at once, and those that
// have none join it.
func TestFreshness4OthersDoNotWait(t *testing.T) {
	freshTest(t, func(t *testing.T, c *freshCache) {
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

// TestFreshness5PausesAfterFailures: a refresh that fails changes nothing, and the next follows after a pause
// that doubles, and begins anew with success.
func TestFreshness5PausesAfterFailures(t *testing.T) {
	freshTest(t, func(t *testing.T, c *freshCache) {
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
		if r := c.Stats().Loads.Refreshes; r.OK != 1 || r.Failed != uint64(c.db.asked-2) {
			t.Errorf("%d refreshes succeeded, and %d failed", r.OK, r.Failed)
		}
	}, func(o *cache.Options[string, int]) { o.Expire = time.Hour })
}

// TestFreshness6StandsIn: if a load fails, a value in Grace stands in; at the end of Grace the
// error counts.
func TestFreshness6StandsIn(t *testing.T) {
	agedTest(t, time.Minute, func(t *testing.T, c *freshCache) {
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
	agedTest(t, time.Minute, func(t *testing.T, c *freshCache) {
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
	}, patience, func(o *cache.Options[string, int]) { o.Timeout = 2 * time.Second })
}

// TestFreshness7KeptErrors: an error that Negative keeps is the answer: it takes the place of a
// value, due or in Grace, until its time ends or the key is changed.
func TestFreshness7KeptErrors(t *testing.T) {
	negative := func(o *cache.Options[string, int]) { o.Negative = forASecond }
	for name, after := range map[string]time.Duration{"due": 31 * time.Second, "in Grace": time.Minute} {
		t.Run(name, func(t *testing.T) {
			agedTest(t, after, func(t *testing.T, c *freshCache) {
				c.db.fails = errNotFound
				c.take(1)
				c.removed(cache.Event[string, int]{"k", 1, cache.Deleted})
				c.takeIn(0, 0, errNotFound)
				c.asked(2)
				if s := c.Stats(); s.Negatives != 1 || s.Loads.Refreshes != (stats.Refreshes{OK: 1}) {
					t.Errorf("%d errors are kept, refreshes: %+v", s.Negatives, s.Loads.Refreshes)
				}
				time.Sleep(time.Second)
				c.db.fails = nil
				c.takeIn(0, 3, nil)
			}, negative)
		})
	}
	agedTest(t, time.Minute, func(t *testing.T, c *freshCache) {
		c.db.fails = errNotFound
		c.takeIn(0, 0, errNotFound)
		c.Set("k", 7)
		c.takeIn(0, 7, nil)
	}, negative, patience)
}

// TestFreshness9EndedContexts: a caller whose context has ended gets the value that is there, and
// begins no fetch; the next caller does, at once.
func TestFreshness9EndedContexts(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	all := takers[string, int]()
	delete(all, "Take") // which has no context
	for name, take := range all {
		for _, age := range []time.Duration{31 * time.Second, time.Minute} { // due, in Grace
			agedTest(t, age, func(t *testing.T, c *freshCache) {
				for range 2 {
					if v, err := take(ended, c.Cache, "k", c.db.fetch); v != 1 || err != nil {
						t.Errorf("%s: %d, %v", name, v, err)
					}
				}
				synctest.Wait()
				if c.db.asked != 1 {
					t.Errorf("%s after %v: %d fetches with a context that had ended", name, age, c.db.asked-1)
				}
				take(t.Context(), c.Cache, "k", c.db.fetch)
				synctest.Wait()
				if c.db.asked != 2 {
					t.Errorf("%s after %v: the next caller begins no fetch", name, age)
				}
			})
		}
	}
}

// TestFreshness9CallersLeave: a caller whose context ends leaves with its cause, also one that has a
// value in Grace; a load behind such a value goes on, with the caller's values.
func TestFreshness9CallersLeave(t *testing.T) {
	type key struct{}
	agedTest(t, 31*time.Second, func(t *testing.T, c *freshCache) {
		c.db.takes = 10 * time.Second
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
		c.TakeCtx(ctx, "k", c.db.fetch)
		cancel()
		time.Sleep(time.Second)
		synctest.Wait()
		if c.db.context.Err() != nil || c.db.context.Value(key{}) != "value" {
			t.Errorf("the context of a refresh: %v, and its value %v", c.db.context.Err(), c.db.context.Value(key{}))
		}
		if _, ok := c.db.context.Deadline(); ok {
			t.Error("a refresh has its caller's deadline")
		}
		time.Sleep(9 * time.Second)
		synctest.Wait()
		c.takeIn(0, 2, nil)
	})
	agedTest(t, time.Minute, func(t *testing.T, c *freshCache) {
		c.db.takes = 10 * time.Second
		left := errors.New("left")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, left)
		defer cancel()
		if _, err := c.TakeCtx(ctx, "k", c.db.fetch); err != left {
			t.Errorf("TakeCtx = %v", err)
		}
		time.Sleep(10 * time.Second)
		c.takeIn(0, 2, nil)
		if n := c.Stats().Loads.Abandoned; n != 1 {
			t.Errorf("%d callers gave up", n)
		}
	}, patience)
}

// TestFreshness10Timeout: at the Timeout a refresh has failed; what its fetch brings later is
// stored nevertheless.
func TestFreshness10Timeout(t *testing.T) {
	agedTest(t, 31*time.Second, func(t *testing.T, c *freshCache) {
		c.db.takes = 10 * time.Second
		c.takeIn(0, 1, nil)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if cause := context.Cause(c.db.context); !errors.Is(cause, cache.ErrTimeout) {
			t.Errorf("the context ended with %v", cause)
		}
		if oldest := c.Stats().Loads.Oldest; oldest != 2*time.Second {
			t.Errorf("the oldest load is %v old", oldest)
		}
		time.Sleep(8 * time.Second)
		synctest.Wait()
		c.takeIn(0, 2, nil)
	}, func(o *cache.Options[string, int]) { o.Timeout = time.Second })
}

// TestFreshness11Panics: a panic or a Goexit in the background is a failure, and told to OnPanic.
func TestFreshness11Panics(t *testing.T) {
	for name, end := range map[string]func(){
		"oops":                  func() { panic("oops") },
		cache.ErrGoexit.Error(): runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			var told []any
			agedTest(t, 31*time.Second, func(t *testing.T, c *freshCache) {
				fetch := func(context.Context) (int, error) { end(); return 0, nil }
				c.TakeCtx(t.Context(), "k", fetch)
				synctest.Wait()
				time.Sleep(30 * time.Second) // in Grace
				if v, err := c.TakeCtx(t.Context(), "k", fetch); v != 1 || err != nil {
					t.Errorf("TakeCtx = %d, %v", v, err)
				}
				synctest.Wait()
				if fmt.Sprint(told) != fmt.Sprint([]string{name, name}) || c.Stats().Loads.Refreshes.Failed != 2 {
					t.Errorf("OnPanic was told %v, and %+v", told, c.Stats().Loads.Refreshes)
				}
			}, patience, func(o *cache.Options[string, int]) {
				o.OnPanic = func(recovered any, _ []byte) { told = append(told, recovered) }
			})
		})
	}
}

// TestFreshness12Evictions: if the entry is evicted meanwhile, the result is stored only if a
// caller waits for it; callers after the eviction join.
func TestFreshness12Evictions(t *testing.T) {
	limited := func(o *cache.Options[string, int]) { o.Limit = 1 }
	agedTest(t, 31*time.Second, func(t *testing.T, c *freshCache) {
		c.db.takes = time.Second
		c.takeIn(0, 1, nil)
		c.Set("other", 0)
		time.Sleep(2 * time.Second)
		if _, ok := c.Peek("k"); ok {
			t.Error("a refresh for nobody drives out another entry")
		}
		c.removed(cache.Event[string, int]{"k", 1, cache.Evicted})
	}, limited)
	agedTest(t, 31*time.Second, func(t *testing.T, c *freshCache) {
		c.db.takes = time.Second
		c.takeIn(0, 1, nil)
		c.Set("other", 0)
		c.takeIn(time.Second, 2, nil)
		c.asked(2)
		c.takeIn(0, 2, nil)
	}, limited)
}

// TestFreshness13GraceEnds: if Grace ends meanwhile, the result is stored as after a miss. The
// load is begun by For(c).Take here.
func TestFreshness13GraceEnds(t *testing.T) {
	agedTest(t, 110*time.Second, func(t *testing.T, c *freshCache) {
		c.db.takes = time.Minute
		v, err := cache.For(c.Cache).Take(t.Context(), "k", func(ctx context.Context, _ *cache.Load[int]) (int, error) { return c.db.fetch(ctx) })
		if v != 1 || err != nil {
			t.Errorf("For(c).Take = %d, %v", v, err)
		}
		time.Sleep(11 * time.Second)
		c.removed(cache.Event[string, int]{"k", 1, cache.Expired})
		time.Sleep(50 * time.Second)
		c.takeIn(0, 2, nil)
	})
}

// TestFreshness14TTLOfTheLoad: the TTL that a load chooses decides when its value is due and when it
// expires; a negative one removes the old value. Touch sets both anew.
func TestFreshness14TTLOfTheLoad(t *testing.T) {
	freshTest(t, func(t *testing.T, c *freshCache) {
		expire := time.Hour
		take := func(want int) {
			t.Helper()
			v, err := c.TakeWith(t.Context(), "k", func(ctx context.Context, l *cache.Load[int]) (int, error) {
				l.Expire = expire
				return c.db.fetch(ctx)
			})
			synctest.Wait()
			if v != want || err != nil {
				t.Errorf("TakeWith = %d, %v; want %d", v, err, want)
			}
		}
		take(1)
		time.Sleep(30*time.Minute - 1)
		take(1)
		c.Touch("k", time.Hour)
		time.Sleep(30*time.Minute - time.Millisecond)
		take(1)
		c.asked(1)
		time.Sleep(time.Millisecond)
		expire = -1
		take(1)
		c.asked(2)
		c.removed(cache.Event[string, int]{"k", 1, cache.Deleted})
	})
}

// TestFreshness15Idle: what ends by Idle has no Grace, and the wheel removes a value within a
// tick of the end of its Grace.
func TestFreshness15Idle(t *testing.T) {
	agedTest(t, 10*time.Second, func(t *testing.T, c *freshCache) {
		c.db.fails = errDown
		c.takeIn(0, 0, errDown)
	}, func(o *cache.Options[string, int]) { o.Idle = 10 * time.Second })
	freshTest(t, func(t *testing.T, c *freshCache) {
		c.take(1)
		for range 6 { // in use until its deadline
			time.Sleep(10 * time.Second)
			c.Get("k")
		}
		c.db.fails = errDown
		c.take(1)
	}, func(o *cache.Options[string, int]) { o.Idle = 11 * time.Second })
	freshTest(t, func(t *testing.T, c *freshCache) {
		time.Sleep(time.Millisecond) // between ticks
		c.take(1)
		time.Sleep(2*time.Minute - time.Millisecond)
		synctest.Wait()
		if err := c.Check(); err != nil || c.Len() != 1 {
			t.Error("a value in Grace is removed, or its task is wrong:", err)
		}
		time.Sleep(time.Millisecond + c.Tick())
		c.removed(cache.Event[string, int]{"k", 1, cache.Expired})
		if late := c.Stats().Expiry.Lateness; late.Count() != 1 || late.Quantile(1) > 2*time.Second {
			t.Errorf("%d removals were late by %v", late.Count(), late.Quantile(1))
		}
	})
	agedTest(t, 61*time.Second, func(t *testing.T, c *freshCache) {
		synctest.Wait()
		c.SetWithExpire("k", 7, time.Second)
		if err := c.Check(); err != nil {
			t.Error("a value stored over one in Grace:", err)
		}
	})
}

// TestFreshness16Counts: a value in Grace takes room, and counts as a hit, apart.
func TestFreshness16Counts(t *testing.T) {
	for name, change := range map[string]func(o *cache.Options[string, int]){"Patience": patience, "none": func(*cache.Options[string, int]) {}} {
		t.Run(name, func(t *testing.T) {
			freshTest(t, func(t *testing.T, c *freshCache) {
				c.take(1) // a miss
				time.Sleep(time.Minute)
				c.db.fails = errDown
				c.take(1)
				c.Take("k", func() (int, error) { return 0, errDown })
				c.Get("k") // a miss
				time.Sleep(2 * time.Second)
				c.Take("k", func() (int, error) { return 0, errDown })
				s := c.Stats()
				if s.Hits != 3 || s.HitsInGrace != 3 || s.Misses != 2 || s.MissesExpired != 1 || s.Entries != 1 || c.Len() != 1 {
					t.Errorf("%d hits, %d in Grace, %d misses, %d expired, %d entries", s.Hits, s.HitsInGrace, s.Misses, s.MissesExpired, s.Entries)
				}
				time.Sleep(10 * time.Second)
				c.Take("k", func() (int, error) { return 5, nil }) // a miss
				if s := c.Stats(); s.Hits != 3 || s.Misses != 3 || s.MissesExpired != 2 {
					t.Errorf("after a load: %d hits, %d misses, %d expired", s.Hits, s.Misses, s.MissesExpired)
				}
			}, change)
		})
	}
}

// TestFreshness17Permits: a refresh does not wait for a permit of MaxLoads: it is skipped, and
// the value stands in.
func TestFreshness17Permits(t *testing.T) {
	agedTest(t, 31*time.Second, func(t *testing.T, c *freshCache) {
		go c.TakeCtx(t.Context(), "slow", func(context.Context) (int, error) { time.Sleep(40 * time.Second); return 0, nil })
		synctest.Wait()
		c.take(1)
		c.asked(1)
		time.Sleep(30 * time.Second) // in Grace
		c.take(1)
		c.asked(1)
		if s := c.Stats().Loads; s.Refreshes.Skipped != 2 || s.Queued != 0 {
			t.Errorf("%+v, and %d wait", s.Refreshes, s.Queued)
		}
		time.Sleep(11 * time.Second)
		c.takeIn(0, 2, nil)
	}, patience, func(o *cache.Options[string, int]) { o.MaxLoads = 1 })
}

// TestFreshness19Close: Close ends what runs in the background, and waits for it; after that
// nothing is refreshed.
func TestFreshness19Close(t *testing.T) {
	for _, overtaken := range []bool{false, true} {
		closeEndsRefresh(t, overtaken)
	}
}

func closeEndsRefresh(t *testing.T, overtaken bool) {
	agedTest(t, 31*time.Second, func(t *testing.T, c *freshCache) {
		ended := false
		c.TakeCtx(t.Context(), "k", func(ctx context.Context) (int, error) {
			<-ctx.Done()
			time.Sleep(time.Second)
			ended = ctx.Err() == context.Canceled && strings.Contains(context.Cause(ctx).Error(), "the cache is closed")
			return 2, nil
		})
		if overtaken {
			c.Del("k")
		}
		if err := c.Close(context.Background()); err != nil || !ended {
			t.Errorf("Close: %v, and the load has ended: %v", err, ended)
		}
		c.take(2) // for itself
		if c.Len() != 0 {
			t.Error("a closed cache stores what a refresh brings")
		}
	})
}

// TestFreshness20LeavesOnce: each value leaves once, with its cause, also out of Grace.
func TestFreshness20LeavesOnce(t *testing.T) {
	for cause, remove := range map[cache.Cause]func(c *freshCache){
		cache.Replaced: func(c *freshCache) { c.Set("k", 7) },
		cache.Deleted: func(c *freshCache) {
			if c.Del("k") {
				t.Error("Del found a value in Grace")
			}
		},
		cache.Cleared: func(c *freshCache) { c.Clear() },
		cache.Evicted: func(c *freshCache) { c.Set("other", 7) },
		cache.Expired: func(c *freshCache) { time.Sleep(time.Minute + c.Tick()) },
	} {
		t.Run(cause.String(), func(t *testing.T) {
			agedTest(t, time.Minute, func(t *testing.T, c *freshCache) {
				remove(c)
				c.removed(cache.Event[string, int]{"k", 1, cause})
				time.Sleep(2 * time.Minute)
			}, func(o *cache.Options[string, int]) { o.Limit = 1 })
		})
	}
	freshTest(t, func(t *testing.T, c *freshCache) { // also if others change the shard meanwhile
		c.take(1)
		c.Set("j", 5)
		time.Sleep(time.Minute)
		if n := c.DelFunc(func(key string, v int) bool { c.Set("other", 0); return key != "other" }); n != 2 {
			t.Errorf("DelFunc removed %d in Grace", n)
		}
	}, func(o *cache.Options[string, int]) { o.Limit = 100 })
}

// TestFreshness21Unchanged: Unchanged gives the old value a new life, without an event and a new
// weight; if that has gone meanwhile, nothing is stored.
func TestFreshness21Unchanged(t *testing.T) {
	unchanged := func(ctx context.Context, l *cache.Load[int]) (int, error) {
		if !l.HasOld || l.Old != 1 {
			return 0, fmt.Errorf("told %+v", *l)
		}
		l.Unchanged = true
		time.Sleep(time.Second)
		return 99, nil
	}
	for name, after := range map[string]time.Duration{"due": 31 * time.Second, "in Grace": time.Minute} {
		t.Run(name, func(t *testing.T) {
			agedTest(t, after, func(t *testing.T, c *freshCache) {
				if v, err := c.TakeWith(t.Context(), "k", unchanged); v != 1 || err != nil {
					t.Errorf("TakeWith = %d, %v", v, err)
				}
				time.Sleep(time.Second)
				synctest.Wait()
				if left, _ := c.TTL("k"); left != time.Minute && left != time.Minute-time.Second {
					t.Errorf("%v left", left)
				}
				c.removed()
				time.Sleep(30 * time.Second) // due again
				c.TakeWith(t.Context(), "k", unchanged)
				c.Del("k")
				time.Sleep(2 * time.Second)
				if _, ok := c.Peek("k"); ok {
					t.Error("Unchanged undid a Del")
				}
			}, patience)
		})
	}
}
