package cache

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A loader is what the loaders of these tests ask. It answers with the number of times that it
// was asked.
type loader struct {
	mu    sync.Mutex
	asked int
	takes time.Duration
	tell  func(l *Load[int]) error // or nil
}

func (d *loader) load(_ context.Context, _ string, l *Load[int]) (int, error) {
	value, tell := d.ask()
	return value, tell(l)
}

// loadMany gives all keys of a call the same value.
func (d *loader) loadMany(_ context.Context, loads map[string]*Load[int]) (map[string]int, error) {
	value, tell := d.ask()
	values := map[string]int{}
	for key, l := range loads {
		if err := tell(l); err != nil && l.Err == nil {
			return nil, err
		}
		values[key] = value
	}
	return values, nil
}

func (d *loader) ask() (value int, tell func(l *Load[int]) error) {
	d.mu.Lock()
	d.asked++
	value, tell = d.asked, d.tell
	d.mu.Unlock()
	if tell == nil {
		tell = func(*Load[int]) error { return nil }
	}
	time.Sleep(d.takes)
	return value, tell
}

// byEither runs a test with a cache that loads by Load, and with one by LoadMany.
func byEither(t *testing.T, o Options[string, int], test func(t *testing.T, c *Cache[string, int], d *loader)) {
	for name, set := range map[string]func(o *Options[string, int], d *loader){
		"Load":     func(o *Options[string, int], d *loader) { o.Load = d.load },
		"LoadMany": func(o *Options[string, int], d *loader) { o.LoadMany = d.loadMany },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, o := &loader{takes: time.Second}, o
				set(&o, d)
				c := Must(o)
				defer c.Close(t.Context())
				test(t, c, d)
				synctest.Wait()
				if err := c.check(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func wantFetch(t *testing.T, c *Cache[string, int], key string, want int, wantErr error) {
	t.Helper()
	if v, err := c.Fetch(t.Context(), key); err != wantErr || err == nil && v != want {
		t.Errorf("Fetch(%q) = %d, %v; want %d, %v", key, v, err, want, wantErr)
	}
}

// TestFetch checks that Fetch loads a key once for all callers, by either loader, as its Load
// says, and that it counts as one get.
func TestFetch(t *testing.T) {
	byEither(t, Options[string, int]{Expire: time.Hour}, func(t *testing.T, c *Cache[string, int], d *loader) {
		d.tell = func(l *Load[int]) error { l.Expire = time.Minute; return nil }
		for range 3 {
			go wantFetch(t, c, "k", 1, nil)
		}
		wantFetch(t, c, "k", 1, nil)
		wantFetch(t, c, "k", 1, nil)
		time.Sleep(time.Minute)
		wantFetch(t, c, "k", 2, nil)
		synctest.Wait()
		if s := c.Stats(); s.Hits != 1 || s.Misses != 5 || s.Loads.OK.Count() != 2 {
			t.Errorf("%d hits, %d misses, %d loads", s.Hits, s.Misses, s.Loads.OK.Count())
		}
	})
}

// TestFetchFails checks that the error of either loader is that of Fetch, also when it is kept,
// and that a value in Grace stands in for it.
func TestFetchFails(t *testing.T) {
	o := Options[string, int]{Expire: time.Minute, Grace: time.Hour, Patience: 2 * time.Second}
	byEither(t, o, func(t *testing.T, c *Cache[string, int], d *loader) {
		d.tell = func(*Load[int]) error { return errDown }
		wantFetch(t, c, "k", 0, errDown)
		d.tell = nil
		wantFetch(t, c, "k", 2, nil)
		time.Sleep(time.Minute)
		d.tell = func(l *Load[int]) error {
			if l.Old != 2 || !l.HasOld {
				t.Errorf("the load is told %+v", *l)
			}
			return errDown
		}
		wantFetch(t, c, "k", 2, nil)
		time.Sleep(time.Minute)
		d.tell = func(l *Load[int]) error { l.Err, l.KeepError, l.NotFound = errDown, time.Minute, true; return l.Err }
		wantFetch(t, c, "k", 0, errDown)
		asked := d.asked
		wantFetch(t, c, "k", 0, errDown)
		if d.asked != asked {
			t.Error("a kept error was asked for again")
		}
	})
}

// TestFetchAllocatesNothing checks the hits of a Fetch with all options of freshness.
func TestFetchAllocatesNothing(t *testing.T) {
	c := Must(Options[string, int]{Expire: time.Hour, Refresh: 0.5, Grace: time.Hour, Patience: time.Second, Timeout: time.Minute,
		Load: new(loader).load})
	wantFetch(t, c, "k", 1, nil)
	ctx := context.Background()
	if n := testing.AllocsPerRun(100, func() { _, _ = c.Fetch(ctx, "k") }); n != 0 {
		t.Errorf("a hit allocates %v times", n)
	}
}

// TestFetchOfWhatLoadManyLeavesOut checks that this is an error which says what to do, for who
// has begun the load and for who waits for it, and that a FetchMany then asks for itself.
func TestFetchOfWhatLoadManyLeavesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		c := Must(Options[string, int]{LoadMany: func(_ context.Context, loads map[string]*Load[int]) (map[string]int, error) {
			calls += len(loads)
			time.Sleep(time.Second)
			return nil, nil
		}})
		for range 3 {
			go wantFetch(t, c, "k", 0, errNoValue)
		}
		synctest.Wait()
		if found, err := c.FetchMany(t.Context(), "k"); len(found) != 0 || err != nil {
			t.Errorf("FetchMany = %v, %v", found, err)
		}
		if calls != 2 || c.Len() != 0 {
			t.Errorf("%d calls, and %d values", calls, c.Len())
		}
	})
}

// TestFetchMany checks that keys are loaded by one call of LoadMany, or by one of Load for each
// at the same time, and that it waits for the loads of others.
func TestFetchMany(t *testing.T) {
	byEither(t, Options[string, int]{}, func(t *testing.T, c *Cache[string, int], d *loader) {
		c.Set("stored", 100)
		go wantFetch(t, c, "other", 1, nil)
		synctest.Wait()
		began := time.Now()
		found, err := c.FetchMany(t.Context(), "a", "stored", "b", "other", "a")
		if err != nil || time.Since(began) != time.Second || len(found) != 4 || found["stored"] != 100 || found["other"] != 1 {
			t.Errorf("FetchMany = %v, %v after %v", found, err, time.Since(began))
		}
		want := 2 // calls
		if c.fetchMany == nil {
			want = 3
		}
		if d.asked != want {
			t.Errorf("the loader was asked %d times, want %d", d.asked, want)
		}
	})
}

// TestFetchManyRenews checks that a FetchMany has all due values loaded anew in the background.
func TestFetchManyRenews(t *testing.T) {
	o := Options[string, int]{Expire: time.Hour, Refresh: 0.5}
	byEither(t, o, func(t *testing.T, c *Cache[string, int], _ *loader) {
		for _, key := range []string{"a", "b"} {
			c.Set(key, 100)
		}
		time.Sleep(40 * time.Minute)
		began := time.Now()
		found, err := c.FetchMany(t.Context(), "a", "b")
		if !maps.Equal(found, map[string]int{"a": 100, "b": 100}) || err != nil || !time.Now().Equal(began) {
			t.Errorf("FetchMany = %v, %v after %v", found, err, time.Since(began))
		}
		time.Sleep(time.Minute)
		for _, key := range []string{"a", "b"} {
			if v, ok := c.Peek(key); v > 2 || !ok {
				t.Errorf("%q is %d, %v: not loaded anew", key, v, ok)
			}
		}
	})
}

// TestPanicOfALoader checks that the panic of a Load that runs beside others is an error of its
// key, and that the other keys have their values.
func TestPanicOfALoader(t *testing.T) {
	c := Must(Options[string, int]{Load: func(_ context.Context, key string, _ *Load[int]) (int, error) {
		switch key {
		case "panic":
			panic(errDown)
		case "Goexit":
			runtime.Goexit()
		}
		return 7, nil
	}})
	var panicked *PanicError
	if found, err := c.FetchMany(t.Context(), "a", "panic", "b"); !errors.As(err, &panicked) || !errors.Is(err, errDown) || len(found) != 2 {
		t.Errorf("FetchMany = %v, %v", found, err)
	}
	if err := c.Refresh(t.Context(), "a", "Goexit", "b"); err != ErrGoexit {
		t.Errorf("Refresh = %v", err)
	}
}

// TestRefreshNow checks that Refresh loads values that are fresh, in Grace, or not there, that it
// waits for that, counts as no get, and that others get the old value meanwhile.
func TestRefreshNow(t *testing.T) {
	for name, o := range map[string]Options[string, int]{
		"alone":   {Expire: time.Minute},
		"forever": {},
		"Grace":   {Expire: time.Minute, Grace: time.Hour},
		"Refresh": {Expire: time.Minute, Refresh: 0.5, Grace: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			byEither(t, o, func(t *testing.T, c *Cache[string, int], d *loader) {
				c.Set("k", 100)
				c.Set("beside", 100)
				d.tell = func(l *Load[int]) error {
					if l.HasOld != (l.Old == 100) {
						t.Errorf("the load is told %+v", *l)
					}
					return nil
				}
				time.AfterFunc(time.Second/2, func() {
					if v, ok := c.Get("k"); v != 100 || !ok {
						t.Errorf("Get = %d, %v while the key is loaded", v, ok)
					}
				})
				began := time.Now()
				if err := c.Refresh(t.Context(), "k", "new", "k"); err != nil || time.Since(began) != time.Second {
					t.Errorf("Refresh = %v after %v", err, time.Since(began))
				}
				v, _ := c.Peek("k")
				n, _ := c.Peek("new")
				b, _ := c.Peek("beside")
				if v > 2 || n > 2 || n == 0 || b != 100 {
					t.Errorf("the values are %d, %d and %d", v, n, b)
				}
				if left, _ := c.TTL("k"); o.Expire > 0 && left != time.Minute {
					t.Errorf("%v are left of the new TTL", left)
				}
				if s := c.Stats(); s.Hits != 1 || s.Misses != 0 || s.Loads.Refreshes.OK != 1 {
					t.Errorf("%d hits, %d misses, %d refreshes", s.Hits, s.Misses, s.Loads.Refreshes.OK)
				}
			})
		})
	}
}

// TestRefreshFails checks that a key keeps its value if its load fails, whatever becomes of the
// others, that Refresh returns the error, and that it does not mind the pause after that.
func TestRefreshFails(t *testing.T) {
	for _, grace := range []time.Duration{0, time.Hour} {
		byEither(t, Options[string, int]{Expire: time.Minute, Grace: grace}, func(t *testing.T, c *Cache[string, int], d *loader) {
			c.Set("k", 100)
			d.tell = func(*Load[int]) error { return errDown }
			for n := range 3 {
				if err := c.Refresh(t.Context(), "k"); err != errDown || d.asked != n+1 {
					t.Errorf("Refresh = %v, after %d loads", err, d.asked)
				}
			}
			if v, ok := c.Peek("k"); v != 100 || !ok {
				t.Errorf("Peek = %d, %v", v, ok)
			}
			if grace > 0 {
				time.Sleep(time.Minute)
				if err := c.Refresh(t.Context(), "k"); err != errDown || d.asked != 4 {
					t.Errorf("Refresh of a value in Grace = %v, after %d loads", err, d.asked)
				}
			}
		})
	}
}

// TestRefreshOfWhatIsGone checks that NotFound removes the value without an error of Refresh, that
// the error is kept, and that the next Refresh loads all the same.
func TestRefreshOfWhatIsGone(t *testing.T) {
	byEither(t, Options[string, int]{}, func(t *testing.T, c *Cache[string, int], d *loader) {
		c.Set("k", 100)
		d.tell = func(l *Load[int]) error { l.Err, l.NotFound, l.KeepError = errDown, true, time.Hour; return l.Err }
		for n := range 2 {
			if err := c.Refresh(t.Context(), "k"); err != nil || c.Len() != 0 || d.asked != n+1 {
				t.Errorf("Refresh = %v, %d values, %d loads", err, c.Len(), d.asked)
			}
		}
		wantFetch(t, c, "k", 0, errDown)
		d.tell = nil
		if err := c.Refresh(t.Context(), "k"); err != nil {
			t.Error(err)
		}
		wantFetch(t, c, "k", 3, nil)
	})
}

// TestRefreshMeetsChanges checks that a change of the key wins over a Refresh that began before,
// and that a Refresh joins a load, unless that is stale.
func TestRefreshMeetsChanges(t *testing.T) {
	byEither(t, Options[string, int]{Expire: time.Hour, Refresh: 0.5}, func(t *testing.T, c *Cache[string, int], d *loader) {
		c.Set("k", 100)
		time.AfterFunc(time.Second/4, func() { c.Set("k", 200) })
		if err := c.Refresh(t.Context(), "k"); err != nil {
			t.Error(err)
		}
		wantFetch(t, c, "k", 200, nil)

		go c.Refresh(t.Context(), "k")
		synctest.Wait()
		began := time.Now()
		if err := c.Refresh(t.Context(), "k"); err != nil || d.asked != 2 || time.Since(began) != time.Second {
			t.Errorf("Refresh = %v, after %d loads and %v", err, d.asked, time.Since(began))
		}
		go c.Refresh(t.Context(), "k")
		synctest.Wait()
		c.Del("k")
		if err := c.Refresh(t.Context(), "k"); err != nil || d.asked != 4 {
			t.Errorf("Refresh = %v, after %d loads", err, d.asked)
		}
		wantFetch(t, c, "k", 4, nil)
	})
}

// TestRefreshIsLeft checks that a caller leaves with the cause of its context, and that the values
// are stored all the same.
func TestRefreshIsLeft(t *testing.T) {
	byEither(t, Options[string, int]{}, func(t *testing.T, c *Cache[string, int], _ *loader) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second/2, func() { cancel(errDown) })
		if err := c.Refresh(ctx, "a", "b"); err != errDown {
			t.Errorf("Refresh = %v", err)
		}
		time.Sleep(time.Minute)
		if c.Len() != 2 {
			t.Errorf("%d values", c.Len())
		}
		if err := c.Refresh(ctx, "a"); err != errDown || c.Stats().Loads.Running != 0 {
			t.Errorf("Refresh with a context that has ended = %v", err)
		}
	})
}

// TestFetchesKeepToMaxLoads checks that loads of several keys by Load wait for permits.
func TestFetchesKeepToMaxLoads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int32
		c := Must(Options[int, int]{MaxLoads: 2, Load: func(_ context.Context, key int, _ *Load[int]) (int, error) {
			most.Store(max(most.Load(), running.Add(1)))
			time.Sleep(time.Second)
			running.Add(-1)
			return key, nil
		}})
		began := time.Now()
		if err := c.Refresh(t.Context(), 1, 2, 3, 4, 5); err != nil || most.Load() != 2 || time.Since(began) != 3*time.Second || c.Len() != 5 {
			t.Errorf("Refresh = %v after %v; %d loads at once, %d values", err, time.Since(began), most.Load(), c.Len())
		}
	})
}

// TestRefreshChecksItsKeys checks that a key that cannot be hashed panics before a load has begun,
// and that one that is not equal to itself is left alone.
func TestRefreshChecksItsKeys(t *testing.T) {
	c := Must(Options[any, int]{Load: func(context.Context, any, *Load[int]) (int, error) { return 7, nil }})
	defer c.Close(t.Context())
	if p := panicOf(func() { _ = c.Refresh(t.Context(), "k", []int{1}) }); p == nil || c.Stats().Loads.Running != 0 || c.Len() != 0 {
		t.Errorf("the panic is %v; %d values", p, c.Len())
	}
	nan := Must(Options[float64, int]{Load: func(context.Context, float64, *Load[int]) (int, error) { t.Error("loaded"); return 7, nil }})
	zero := 0.0
	if err := nan.Refresh(t.Context(), zero/zero); err != nil {
		t.Error(err)
	}
}

func panicOf(call func()) (p any) {
	defer func() { p = recover() }()
	call()
	return nil
}

// TestFetchWithoutALoader checks that this panics with a text that says what to do, and that a
// nil context does.
func TestFetchWithoutALoader(t *testing.T) {
	var none context.Context
	c := Must(Options[string, int]{})
	with := Must(Options[string, int]{Load: new(loader).load})
	calls := map[string]func(c *Cache[string, int], ctx context.Context){
		"Fetch":     func(c *Cache[string, int], ctx context.Context) { _, _ = c.Fetch(ctx, "k") },
		"FetchMany": func(c *Cache[string, int], ctx context.Context) { _, _ = c.FetchMany(ctx, "k") },
		"Refresh":   func(c *Cache[string, int], ctx context.Context) { _ = c.Refresh(ctx, "k") },
	}
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		text, _ := panicOf(func() { calls[name](c, t.Context()) }).(string)
		if !strings.Contains(text, name+" of a cache without a loader") {
			t.Errorf("%s without a loader panics with %q", name, text)
		}
		text, _ = panicOf(func() { calls[name](with, none) }).(string)
		if !strings.Contains(text, "context of "+name+" is nil") {
			t.Errorf("%s without a context panics with %q", name, text)
		}
	}
}

// TestFetchPostponesIdle checks that a hit postpones the end of idleness.
func TestFetchPostponesIdle(t *testing.T) {
	byEither(t, Options[string, int]{Idle: time.Hour}, func(t *testing.T, c *Cache[string, int], _ *loader) {
		for range 3 {
			wantFetch(t, c, "k", 1, nil)
			time.Sleep(40 * time.Minute)
		}
		time.Sleep(time.Hour)
		wantFetch(t, c, "k", 2, nil)
	})
}

// TestFetchIsAUse checks that a hit keeps its entry from being evicted before others.
func TestFetchIsAUse(t *testing.T) {
	byEither(t, Options[string, int]{Limit: 3}, func(t *testing.T, c *Cache[string, int], _ *loader) {
		for _, key := range []string{"a", "b", "c"} {
			c.Set(key, 100)
		}
		wantFetch(t, c, "a", 100, nil)
		c.Set("d", 100)
		if _, ok := c.Peek("a"); !ok {
			t.Error("what was used was evicted, and what was not stays")
		}
	})
}
