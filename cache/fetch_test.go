package cache_test

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// A table is what Load and LoadMany read, with a second for an answer. It notes the keys of each call.
type table struct {
	mu    sync.Mutex
	rows  map[string]int
	calls [][]string
	apart bool // load was called
	fails error
	tell  func(key string, l *cache.Load[int]) // what a load tells of a key; nil: nothing
}

func (d *table) load(ctx context.Context, key string, l *cache.Load[int]) (int, error) {
	d.mu.Lock()
	d.apart = true
	d.mu.Unlock()
	values, err := d.loadMany(ctx, []string{key}, []*cache.Load[int]{l})
	return values[key], cmp.Or(err, l.Err)
}

func (d *table) loadMany(_ context.Context, keys []string, loads []*cache.Load[int]) (map[string]int, error) {
	d.mu.Lock()
	d.calls = append(d.calls, slices.Clone(keys))
	values, err := map[string]int{}, d.fails
	for i, key := range keys {
		if v, ok := d.rows[key]; ok {
			values[key] = v
		}
		if d.tell != nil {
			d.tell(key, loads[i])
		}
	}
	d.mu.Unlock()
	time.Sleep(time.Second)
	return values, err
}

// set changes a row.
func (d *table) set(key string, value int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rows[key] = value
}

// does changes what the loads do from now on.
func (d *table) does(fails error, tell func(key string, l *cache.Load[int])) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fails, d.tell = fails, tell
}

// called wants the calls since the last time, in any order.
func (d *table) called(t *testing.T, want ...[]string) {
	t.Helper()
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	slices.SortFunc(d.calls, slices.Compare)
	if !slices.EqualFunc(d.calls, want, slices.Equal) {
		t.Errorf("calls of %q, want %q", d.calls, want)
	}
	d.calls = nil
}

// background is for a caller that cannot leave, whose load runs in its own goroutine.
func background(*testing.T) context.Context { return context.Background() }

var errNoRow = errors.New("no such row")

// keepNoRow is a Negative that keeps what was not found.
func keepNoRow(err error) time.Duration {
	if errors.Is(err, errNoRow) || errors.Is(err, cache.ErrNotFound) {
		return 10 * time.Second
	}
	return 0
}

// tableTest runs a test in fake time with a cache in front of a table with the rows a, b and c.
func tableTest(t *testing.T, o cache.Options[string, int], test func(t *testing.T, d *table, c *cache.Cache[string, int])) {
	for loader, set := range map[string]func(o *cache.Options[string, int], d *table){
		"Load":     func(o *cache.Options[string, int], d *table) { o.Load = d.load },
		"LoadMany": func(o *cache.Options[string, int], d *table) { o.LoadMany = d.loadMany },
	} {
		t.Run(loader, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &table{rows: map[string]int{"a": 1, "b": 2, "c": 3}}
				o := o
				set(&o, d)
				c := cache.Must(o)
				test(t, d, c)
				cache.WantWhole(t, c)
				cache.MustClose(t, c)
			})
		})
	}
}

// TestFetch checks that Fetch loads what is missing, once for all callers, by either option, and that a
// hit allocates nothing.
func TestFetch(t *testing.T) {
	tableTest(t, cache.Options[string, int]{}, func(t *testing.T, d *table, c *cache.Cache[string, int]) {
		var callers sync.WaitGroup
		for range 3 {
			callers.Go(func() {
				if v, err := c.Fetch(t.Context(), "a"); v != 1 || err != nil {
					t.Errorf("Fetch = %d, %v", v, err)
				}
			})
		}
		callers.Wait()
		d.called(t, []string{"a"})
		ctx := t.Context()
		if n := testing.AllocsPerRun(10, func() { _, _ = c.Fetch(ctx, "a") }); n != 0 {
			t.Errorf("a hit allocates %v times", n)
		}
		if s := c.Stats(); s.Hits != 11 || s.Misses != 3 || s.Loads.OK.Count() != 1 {
			t.Errorf("%d hits, %d misses, %d loads", s.Hits, s.Misses, s.Loads.OK.Count())
		}
		d.fails = errDown
		if _, err := c.Fetch(ctx, "b"); err != errDown {
			t.Errorf("Fetch fails with %v", err)
		}
	})
}

// TestFetchMany checks that FetchMany loads the missing keys: by one call of LoadMany, or by calls of
// Load at the same time.
func TestFetchMany(t *testing.T) {
	for name, contextOf := range map[string]func(t *testing.T) context.Context{"inline": background, "goroutine": (*testing.T).Context} {
		t.Run(name, func(t *testing.T) {
			tableTest(t, cache.Options[string, int]{}, func(t *testing.T, d *table, c *cache.Cache[string, int]) {
				ctx := contextOf(t)
				c.Set("b", 20)
				began := time.Now()
				got, err := c.FetchMany(ctx, []string{"a", "b", "c", "a"})
				if !maps.Equal(got, map[string]int{"a": 1, "b": 20, "c": 3}) || err != nil || time.Since(began) != time.Second {
					t.Errorf("FetchMany = %v, %v after %v", got, err, time.Since(began))
				}
				if d.apart {
					d.called(t, []string{"a"}, []string{"c"})
				} else {
					d.called(t, []string{"a", "c"})
				}
				if s := c.Stats(); s.Hits != 1 || s.Misses != 2 {
					t.Errorf("%d hits, %d misses", s.Hits, s.Misses)
				}
				d.fails = errDown
				if got, err := c.FetchMany(ctx, []string{"a", "d"}); !maps.Equal(got, map[string]int{"a": 1}) || err != errDown {
					t.Errorf("FetchMany = %v, %v", got, err)
				}
			})
		})
	}
}

// TestEachKeyForItself checks what a load may say of each key of a batch, to FetchMany and to a TakeMany
// whose function is WithLoads: a TTL, that Old is right, that there is no value, an error of its own, and
// not to store.
func TestEachKeyForItself(t *testing.T) {
	d := &table{rows: map[string]int{"ttl": 1, "unstored": 2, "same": 3, "gone": 4, "fails": 5, "no row": 6}}
	d.tell = func(key string, l *cache.Load[int]) {
		switch key {
		case "ttl":
			l.Expire = time.Hour
		case "unstored":
			l.Expire = -1
		case "same":
			l.Unchanged, l.Old = l.HasOld, 99
		case "gone":
			l.Gone = l.HasOld
		case "fails":
			l.Err = errDown
		case "no row":
			l.Err, l.NotFound = errNoRow, true
		}
	}
	var keys []string
	for key := range d.rows {
		keys = append(keys, key)
	}
	keys = append(keys, "left out")
	slices.Sort(keys)
	for name, take := range map[string]func(t *testing.T, c *cache.Cache[string, int]) (map[string]int, error){
		"FetchMany": func(t *testing.T, c *cache.Cache[string, int]) (map[string]int, error) {
			return c.FetchMany(t.Context(), keys)
		},
		"TakeMany": func(t *testing.T, c *cache.Cache[string, int]) (map[string]int, error) {
			return c.TakeMany(t.Context(), keys, cache.WithLoads(d.loadMany))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var removed []cache.Event[string, int]
				c := cache.Must(cache.Options[string, int]{
					Expire: time.Minute, Grace: time.Hour, Patience: time.Hour, LoadMany: d.loadMany, Negative: keepNoRow,
					OnRemove: func(e cache.Event[string, int]) { removed = append(removed, e) }, Workers: 1,
				})
				defer cache.MustClose(t, c)
				c.Set("same", 30)
				c.Set("gone", 40)
				time.Sleep(time.Minute) // now they are in Grace
				got, err := take(t, c)
				if !maps.Equal(got, map[string]int{"ttl": 1, "same": 30, "unstored": 2}) || err != errDown {
					t.Errorf("%v, %v", got, err)
				}
				d.called(t, keys)
				want := map[string]time.Duration{"ttl": time.Hour, "same": time.Minute}
				for e := range c.Entries() {
					if left := want[e.Key]; e.TTL > left || e.TTL < left-time.Second || e.Key == "same" && e.Value != 30 {
						t.Errorf("%+v, want %v", e, left)
					}
					delete(want, e.Key)
				}
				if len(want) > 0 {
					t.Errorf("not stored: %v", want)
				}
				if !slices.Equal(removed, []cache.Event[string, int]{{Key: "gone", Value: 40, Cause: cache.Deleted}}) {
					t.Errorf("removed: %v", removed)
				}
				got, err = take(t, c) // what was not found is not asked for again
				if !maps.Equal(got, map[string]int{"ttl": 1, "same": 30, "unstored": 2}) || err != errDown {
					t.Errorf("then %v, %v", got, err)
				}
				d.called(t, []string{"fails", "unstored"})
				if _, err := c.Fetch(t.Context(), "no row"); err != errNoRow {
					t.Errorf("the error of a row that is not there is %v", err)
				}
				if _, err := c.Fetch(t.Context(), "left out"); err != cache.ErrNotFound {
					t.Errorf("the error of a key that was left out is %v", err)
				}
				d.called(t)
				time.Sleep(10 * time.Second)
				if _, err := c.Fetch(t.Context(), "left out"); err != cache.ErrNotFound {
					t.Errorf("then the error of a key that was left out is %v", err)
				}
				d.called(t, []string{"left out"})
				if s := c.Stats(); s.Loads.Failed.Count() != 2 {
					t.Errorf("%d loads failed, want the two batches with an error", s.Loads.Failed.Count())
				}
			})
		})
	}
}

// TestGone checks that a load which says Gone removes the old value at once, by each method, and that
// the caller gets its error, or ErrNotFound.
func TestGone(t *testing.T) {
	for name, own := range map[string]error{"with an error": errNoRow, "without": nil} {
		gone := func(_ context.Context, _ string, l *cache.Load[int]) (int, error) {
			l.Gone = true
			return 0, own
		}
		loads := map[string]func(c *freshCache) error{
			"Fetch": func(c *freshCache) error { _, err := c.Fetch(c.t.Context(), "k"); return err },
			"TakeWith": func(c *freshCache) error {
				_, err := c.TakeWith(c.t.Context(), "k", func(ctx context.Context, l *cache.Load[int]) (int, error) { return gone(ctx, "k", l) })
				return err
			},
			"Refresh": func(c *freshCache) error { return c.Refresh(c.t.Context(), "k") },
		}
		for method, load := range loads {
			t.Run(method+" "+name, func(t *testing.T) {
				change := func(o *cache.Options[string, int]) { o.Load, o.Patience = gone, time.Second }
				agedTest(t, 61*time.Second, func(t *testing.T, c *freshCache) { // in Grace
					want, err := cmp.Or(own, cache.ErrNotFound), load(c)
					if method == "Refresh" {
						want = nil // there is nothing to tell
					}
					if err != want {
						t.Errorf("%s returns %v, want %v", method, err, want)
					}
					c.removed(cache.Event[string, int]{Key: "k", Value: 1, Cause: cache.Deleted})
					if s := c.Stats(); s.Loads.Failed.Count() != 0 || s.Loads.Refreshes.Failed != 0 {
						t.Errorf("%+v", s.Loads)
					}
				}, change)
			})
		}
	}
}

// TestRefresh checks that Refresh loads keys again that have a fresh value, a due one, or none, and
// that a failure leaves the value as it is.
func TestRefresh(t *testing.T) {
	for name, o := range map[string]cache.Options[string, int]{
		"plain": {Expire: time.Hour}, "Refresh": {Expire: time.Hour, Refresh: 0.5}, "Grace": {Expire: time.Hour, Grace: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			tableTest(t, o, func(t *testing.T, d *table, c *cache.Cache[string, int]) {
				d.tell = func(key string, l *cache.Load[int]) {
					if l.HasOld != (key == "a") || l.Old != map[bool]int{true: 1}[l.HasOld] {
						t.Errorf("the load of %q is told %+v", key, l)
					}
				}
				want := func(key string, value int, left time.Duration) {
					t.Helper()
					if e, ok := c.Entry(key); !ok || e.Value != value || e.TTL != left {
						t.Errorf("%+v, %t; want %d for %v", e, ok, value, left)
					}
				}
				c.Set("a", 1)
				time.Sleep(40 * time.Minute) // with Refresh it is due
				d.fails = errDown
				if err := c.Refresh(t.Context(), "a"); err != errDown {
					t.Errorf("Refresh returns %v", err)
				}
				want("a", 1, 20*time.Minute-time.Second)
				d.fails = nil
				d.set("a", 10)
				if err := c.Refresh(t.Context(), "a", "b", "a"); err != nil {
					t.Error(err)
				}
				want("a", 10, time.Hour)
				want("b", 2, time.Hour)
				if s := c.Stats(); s.Gets() != 0 || s.Loads.Refreshes.OK != 1 || s.Loads.Refreshes.Failed != 1 {
					t.Errorf("%+v", s)
				}
				if err := c.Refresh(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestRefreshThatFails checks that a Refresh of a fresh value that fails does not make the value due.
func TestRefreshThatFails(t *testing.T) {
	tableTest(t, cache.Options[string, int]{Expire: time.Hour, Refresh: 0.5}, func(t *testing.T, d *table, c *cache.Cache[string, int]) {
		c.Set("a", 1)
		d.fails = errDown
		_ = c.Refresh(t.Context(), "a")
		d.called(t, []string{"a"})
		time.Sleep(30*time.Minute - 5*time.Second) // it is due after half an hour, four seconds from now
		if v, err := c.Fetch(t.Context(), "a"); v != 1 || err != nil {
			t.Errorf("Fetch = %d, %v", v, err)
		}
		d.called(t)
	})
}

// TestRefreshReadsAfterItsCall checks that after Refresh the value is what the table had when it was called, or
// newer, also if a load is under way, and that callers of Refresh share loads.
func TestRefreshReadsAfterItsCall(t *testing.T) {
	tableTest(t, cache.Options[string, int]{Expire: time.Hour}, func(t *testing.T, d *table, c *cache.Cache[string, int]) {
		var callers sync.WaitGroup
		callers.Go(func() { _, _ = c.Fetch(t.Context(), "a") })
		time.Sleep(100 * time.Millisecond)
		d.set("a", 2) // after the load has read
		for i := range 10 {
			callers.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				if err := c.Refresh(t.Context(), "a"); err != nil {
					t.Error(err)
				}
				if v, ok := c.Get("a"); v < 2 || !ok {
					t.Errorf("after Refresh the value is %d, %t", v, ok)
				}
			})
		}
		time.Sleep(200 * time.Millisecond)
		if v, err := c.Fetch(t.Context(), "a"); v != 2 || err != nil { // joins the newest load
			t.Errorf("Fetch = %d, %v", v, err)
		}
		callers.Wait()
		d.called(t, []string{"a"}, []string{"a"}, []string{"a"})
	})
}

// TestRefreshTellsMore checks that a Refresh loads a key with a kept error too, and that what a load says
// of a fresh value holds: Unchanged gives it a new TTL, a negative TTL removes it, a kept error replaces it.
func TestRefreshTellsMore(t *testing.T) {
	tableTest(t, cache.Options[string, int]{Expire: time.Minute, Negative: keepNoRow}, func(t *testing.T, d *table, c *cache.Cache[string, int]) {
		refresh := func(tell func(l *cache.Load[int]), want int, found bool, left time.Duration) {
			t.Helper()
			d.tell = func(_ string, l *cache.Load[int]) { tell(l) }
			if err := c.Refresh(t.Context(), "a"); err != nil {
				t.Error(err)
			}
			if e, ok := c.Entry("a"); e.Value != want || ok != found || e.TTL != left {
				t.Errorf("%+v, %t; want %d for %v", e, ok, want, left)
			}
		}
		c.Set("a", 7)
		refresh(func(l *cache.Load[int]) { l.Unchanged = true }, 7, true, time.Minute)
		refresh(func(l *cache.Load[int]) { l.Err = errNoRow }, 0, false, 0)
		if _, err := c.Fetch(t.Context(), "a"); err != errNoRow {
			t.Errorf("the error is not kept: %v", err)
		}
		refresh(func(*cache.Load[int]) {}, 1, true, time.Minute)
		refresh(func(l *cache.Load[int]) { l.Expire = -1 }, 0, false, 0)
	})
}

// TestRefreshWithoutItsCaller checks that a Refresh whose context ends leaves, and its load goes on.
func TestRefreshWithoutItsCaller(t *testing.T) {
	tableTest(t, cache.Options[string, int]{}, func(t *testing.T, d *table, c *cache.Cache[string, int]) {
		c.Set("a", 7)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond) // fake time
		defer cancel()
		if err := c.Refresh(ctx, "a"); err != context.DeadlineExceeded {
			t.Errorf("Refresh returns %v", err)
		}
		time.Sleep(time.Second)
		if v, ok := c.Get("a"); v != 1 || !ok {
			t.Errorf("the value is %d, %t", v, ok)
		}
		if err := c.Refresh(ctx, "a"); err != context.DeadlineExceeded {
			t.Errorf("with an ended context, Refresh returns %v", err)
		}
		d.called(t, []string{"a"})
	})
}

// TestRefreshOfAChangedKey checks that Refresh never undoes a Set.
func TestRefreshOfAChangedKey(t *testing.T) {
	tableTest(t, cache.Options[string, int]{}, func(t *testing.T, d *table, c *cache.Cache[string, int]) {
		c.Set("a", 1)
		time.AfterFunc(time.Millisecond, func() { c.Set("a", 7) })
		if err := c.Refresh(t.Context(), "a"); err != nil {
			t.Error(err)
		}
		if v, _ := c.Get("a"); v != 7 {
			t.Errorf("the value is %d", v)
		}
	})
}

// TestFetchPanics checks that the panic of a load goes on in the caller, also if it loads several keys
// apart, once all have ended.
func TestFetchPanics(t *testing.T) {
	boom := func(context.Context, string, *cache.Load[int]) (int, error) { panic("boom") }
	for name, call := range map[string]func(c *cache.Cache[string, int]){
		"Fetch":     func(c *cache.Cache[string, int]) { _, _ = c.Fetch(t.Context(), "a") },
		"FetchMany": func(c *cache.Cache[string, int]) { _, _ = c.FetchMany(t.Context(), []string{"a", "b"}) },
		"Refresh":   func(c *cache.Cache[string, int]) { _ = c.Refresh(t.Context(), "a", "b") },
	} {
		c := cache.Must(cache.Options[string, int]{Load: boom})
		func() {
			defer func() {
				if p := recover(); p != "boom" {
					t.Errorf("%s panics with %v", name, p)
				}
			}()
			call(c)
		}()
		cache.WantWhole(t, c)
	}
}

// TestWithoutALoader checks the errors where a loader is missing, or WithLoads is used in another place.
func TestWithoutALoader(t *testing.T) {
	c := cache.Must(cache.Options[string, int]{})
	_, one := c.Fetch(t.Context(), "a")
	_, many := c.FetchMany(t.Context(), []string{"a"})
	for _, err := range []error{one, many, c.Refresh(t.Context(), "a")} {
		if !errors.Is(err, cache.ErrArgument) {
			t.Errorf("the error is %v", err)
		}
	}
	c.Set("a", 1)
	if _, err := c.Fetch(t.Context(), "a"); !errors.Is(err, cache.ErrArgument) {
		t.Errorf("the error for a key with a value is %v", err)
	}
	if _, err := cache.WithLoads((&table{}).loadMany)(t.Context(), []string{"a"}); err == nil {
		t.Error("WithLoads outside of TakeMany returns no error")
	}
}

// TestTakeManyRemembers checks that a TakeMany does not ask again for keys that were left out, if
// Negative keeps ErrNotFound, and that a Set ends that.
func TestTakeManyRemembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s source
		c := cache.Must(cache.Options[int, int]{Negative: keepNoRow})
		for range 3 {
			got, err := c.TakeMany(t.Context(), []int{1, 100, 101}, s.fetch)
			wantMany(t, got, err, 1)
		}
		wantCalls(t, &s, []int{1, 100, 101})
		c.Set(100, 1000)
		got, err := c.TakeMany(t.Context(), []int{100}, s.fetch)
		wantMany(t, got, err, 100)
		if _, err := c.TakeCtx(t.Context(), 101, func(context.Context) (int, error) { return 0, nil }); err != cache.ErrNotFound {
			t.Errorf("TakeCtx returns %v", err)
		}
	})
}

// TestBatch checks that Fetches which miss within Batch are one call of LoadMany, that others join its
// loads, and that one whose caller leaves does not end it.
func TestBatch(t *testing.T) {
	for name, contextOf := range map[string]func(t *testing.T) context.Context{"inline": background, "goroutine": (*testing.T).Context} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &table{rows: map[string]int{"a": 1, "b": 2, "c": 3, "d": 4}}
				c := cache.Must(cache.Options[string, int]{LoadMany: d.loadMany, Batch: 10 * time.Millisecond, MaxLoads: 1, Negative: keepNoRow})
				defer cache.MustClose(t, c)
				ctx := contextOf(t)
				var callers sync.WaitGroup
				fetch := func(ctx context.Context, after time.Duration, key string, want int, wantErr error) {
					callers.Go(func() {
						time.Sleep(after)
						if v, err := c.Fetch(ctx, key); v != want || err != wantErr {
							t.Errorf("Fetch of %q = %d, %v", key, v, err)
						}
					})
				}
				leaves, leave := context.WithCancel(context.Background())
				time.AfterFunc(5*time.Millisecond, leave)
				fetch(leaves, 0, "a", 0, context.Canceled)
				fetch(ctx, 1*time.Millisecond, "b", 2, nil)
				fetch(ctx, 2*time.Millisecond, "b", 2, nil)
				fetch(ctx, 9*time.Millisecond, "none", 0, cache.ErrNotFound)
				fetch(ctx, 11*time.Millisecond, "a", 1, nil) // joins
				fetch(ctx, 11*time.Millisecond, "c", 3, nil) // the next batch, which waits for the permit
				fetch(ctx, 500*time.Millisecond, "d", 4, nil)
				callers.Wait()
				d.called(t, []string{"a", "b", "none"}, []string{"c", "d"})
				fetch(ctx, 0, "none", 0, cache.ErrNotFound)
				callers.Wait()
				d.called(t)
				d.fails = errDown
				fetch(ctx, 0, "x", 0, errDown)
				fetch(ctx, 0, "y", 0, errDown)
				callers.Wait()
				cache.WantWhole(t, c)
			})
		})
	}
}

// TestBatchThatAllLeave checks that a batch ends when all its callers have left, and that the next
// caller begins another one.
func TestBatchThatAllLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &table{rows: map[string]int{"a": 1}}
		c := cache.Must(cache.Options[string, int]{LoadMany: d.loadMany, Batch: time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := c.Fetch(ctx, "a"); err != context.DeadlineExceeded {
			t.Errorf("the caller leaves with %v", err)
		}
		if v, err := c.Fetch(t.Context(), "a"); v != 1 || err != nil {
			t.Errorf("Fetch = %d, %v", v, err)
		}
		cache.MustClose(t, c)
	})
}

// TestBatchPanics checks that the panic of LoadMany ends the caller that began the batch, and is the
// error of the others.
func TestBatchPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.Must(cache.Options[string, int]{Batch: time.Second, LoadMany: func(context.Context, []string, []*cache.Load[int]) (map[string]int, error) {
			panic("boom")
		}})
		var callers sync.WaitGroup
		results := make(chan any, 2)
		for _, key := range []string{"a", "b"} {
			callers.Go(func() {
				defer func() {
					if p := recover(); p != nil {
						results <- p
					}
				}()
				_, err := c.Fetch(t.Context(), key)
				var panicked *cache.PanicError
				if errors.As(err, &panicked) {
					results <- panicked
				}
			})
		}
		callers.Wait()
		close(results)
		panics, errs := 0, 0
		for r := range results {
			if r == "boom" {
				panics++
			} else {
				errs++
			}
		}
		if panics != 1 || errs != 1 {
			t.Errorf("%d panics and %d errors, want one of each", panics, errs)
		}
		cache.WantWhole(t, c)
	})
}

// TestFetchTimesOut checks that the callers of loads which take longer than Timeout get that error.
func TestFetchTimesOut(t *testing.T) {
	tableTest(t, cache.Options[string, int]{Timeout: 100 * time.Millisecond}, func(t *testing.T, d *table, c *cache.Cache[string, int]) {
		for _, ctx := range []context.Context{context.Background(), t.Context()} {
			_, one := c.Fetch(ctx, "a")
			_, many := c.FetchMany(ctx, []string{"b", "c"})
			for _, err := range []error{one, many, c.Refresh(ctx, "d", "e")} {
				if !errors.Is(err, cache.ErrTimeout) {
					t.Errorf("the error is %v", err)
				}
			}
			time.Sleep(time.Second)
			c.Clear()
		}
	})
}

// TestBatchWithinAFetch checks that a Fetch within a fetch waits for no batch of others, which may need
// what that fetch loads.
func TestBatchWithinAFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parents := map[string]string{"c": "b", "d": "c"}
		var c *cache.Cache[string, string]
		c = cache.Must(cache.Options[string, string]{Batch: 10 * time.Millisecond, LoadMany: func(ctx context.Context, keys []string, _ []*cache.Load[string]) (map[string]string, error) {
			values := map[string]string{}
			time.Sleep(5 * time.Millisecond)
			for _, key := range keys {
				values[key] = key
				if parent := parents[key]; parent != "" {
					above, err := c.Fetch(ctx, parent)
					if err != nil {
						return nil, err
					}
					values[key] += above
				}
			}
			return values, nil
		}})
		var callers sync.WaitGroup
		for _, key := range []string{"c", "d"} {
			callers.Go(func() {
				if v, err := c.Fetch(t.Context(), key); v != map[string]string{"c": "cb", "d": "dcb"}[key] || err != nil {
					t.Errorf("Fetch of %s = %q, %v", key, v, err)
				}
			})
			time.Sleep(12 * time.Millisecond) // c looks for its parent while the batch of d is open
		}
		callers.Wait()
		cache.MustClose(t, c)
	})
}

// TestBatchOfAKeyTwice checks that a batch has no key twice, also if its first load of the key is stale.
func TestBatchOfAKeyTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &table{rows: map[string]int{"a": 1}}
		c := cache.Must(cache.Options[string, int]{LoadMany: d.loadMany, Batch: 10 * time.Millisecond})
		var callers sync.WaitGroup
		for range 3 {
			callers.Go(func() {
				if v, err := c.Fetch(t.Context(), "a"); v != 1 || err != nil {
					t.Errorf("Fetch = %d, %v", v, err)
				}
			})
			synctest.Wait()
			c.Del("a")
		}
		callers.Wait()
		d.called(t, []string{"a"}, []string{"a"}, []string{"a"})
		cache.MustClose(t, c)
	})
}

// TestRefreshOfAnExpiredValue checks that a load is not told of a value that has expired, which it could
// not keep.
func TestRefreshOfAnExpiredValue(t *testing.T) {
	tableTest(t, cache.Options[string, int]{Expire: time.Minute}, func(t *testing.T, d *table, c *cache.Cache[string, int]) {
		c.Set("a", 1)
		time.Sleep(time.Minute) // before the tick that removes it
		d.tell = func(_ string, l *cache.Load[int]) {
			if l.HasOld {
				t.Error("the load has an old value")
			}
		}
		if err := c.Refresh(t.Context(), "a"); err != nil {
			t.Error(err)
		}
	})
}
