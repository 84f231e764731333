package cache_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/cache/codec"
)

// takeEntry wants an entry of "a" with a value and an age, to 17 ms, by the loader of the options.
func takeEntry(t *testing.T, c *cache.Cache[string, int], terms cache.Terms, value int, age time.Duration) cache.Entry[string, int] {
	t.Helper()
	e, err := c.TakeEntry(t.Context(), "a", terms, nil)
	if err != nil || e.Key != "a" || e.Value != value {
		t.Errorf("TakeEntry(%+v) = %+v, %v, want %d", terms, e, err, value)
	}
	if off := e.Age - age; off < -17*time.Millisecond || off > 17*time.Millisecond {
		t.Errorf("TakeEntry(%+v) says the age is %v, want %v", terms, e.Age, age)
	}
	return e
}

// TestWithin checks that a value that is too old is loaded anew, that its age is that of its load, and that
// what Restore has stored has no age.
func TestWithin(t *testing.T) {
	tableTest(t, cache.Options[string, int]{Ages: true, Expire: time.Hour}, func(t *testing.T, d *table, c *cache.Cache[string, int]) {
		if e := takeEntry(t, c, cache.Within(time.Minute), 1, time.Second); e.TTL != time.Hour || e.Due || e.InGrace {
			t.Errorf("after the load: %+v", e)
		}
		d.called(t, []string{"a"})
		time.Sleep(29 * time.Second)
		d.set("a", 10)
		takeEntry(t, c, cache.Terms{}, 1, 30*time.Second)
		takeEntry(t, c, cache.Within(31*time.Second), 1, 30*time.Second)
		d.called(t)
		takeEntry(t, c, cache.Within(29*time.Second), 10, time.Second)
		d.called(t, []string{"a"})
		c.Set("a", 5)
		time.Sleep(time.Second)
		takeEntry(t, c, cache.Within(2*time.Second), 5, time.Second)
		takeEntry(t, c, cache.Within(0), 10, time.Second)
		takeEntry(t, c, cache.Within(-1), 10, time.Second)
		d.called(t, []string{"a"}, []string{"a"})

		encode, decode := codec.Gob[string, int]()
		var file bytes.Buffer
		if err := c.Save(&file, encode); err != nil {
			t.Fatal(err)
		}
		c.Clear()
		if n, err := c.Restore(&file, decode); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		if e, _ := c.Entry("a"); e.Age != -1 {
			t.Errorf("restored: %+v", e)
		}
		takeEntry(t, c, cache.Within(1000*time.Hour), 10, time.Second)
		d.called(t, []string{"a"})
	})
}

// TestWithinAndLoads checks that a caller joins no load that began too early, and none that it begins is
// joined by one that asks for a later one.
func TestWithinAndLoads(t *testing.T) {
	tableTest(t, cache.Options[string, int]{Expire: time.Hour, Ages: true}, func(t *testing.T, d *table, c *cache.Cache[string, int]) {
		go func() {
			if v, err := c.Fetch(t.Context(), "a"); v != 1 || err != nil {
				t.Errorf("Fetch = %d, %v", v, err)
			}
		}()
		time.Sleep(time.Second / 2)
		d.set("a", 10)
		if e := takeEntry(t, c, cache.Within(0), 10, time.Second); e.TTL != time.Hour {
			t.Errorf("TTL is %v", e.TTL)
		}
		d.called(t, []string{"a"}, []string{"a"})
		if v, ok := c.Get("a"); v != 10 || !ok {
			t.Errorf("the cache has %d, %t", v, ok)
		}
		go func() { _, _ = c.Fetch(t.Context(), "b") }()
		time.Sleep(time.Millisecond)
		go func() { _, _ = c.TakeEntry(t.Context(), "b", cache.Within(0), nil) }()
		time.Sleep(time.Second / 2)
		go func() {
			time.Sleep(time.Second / 4)
			c.Set("b", 7) // not what a load has brought
		}()
		if e, err := c.TakeEntry(t.Context(), "b", cache.Within(0), nil); err != nil || e.Value != 2 {
			t.Errorf("beside two loads: %+v, %v", e, err)
		}
		time.Sleep(2 * time.Second)
		d.called(t, []string{"b"}, []string{"b"}, []string{"b"})
		d.does(errDown, nil)
		if _, err := c.TakeEntry(t.Context(), "a", cache.Within(0), nil); err != errDown {
			t.Errorf("a load that fails: %v", err)
		}
		if v, ok := c.Get("a"); v != 10 || !ok {
			t.Errorf("after a load that failed the cache has %d, %t", v, ok)
		}
	})
}

// TestWithinAndKeptErrors checks that a kept error of an older load does not count.
func TestWithinAndKeptErrors(t *testing.T) {
	tableTest(t, cache.Options[string, int]{Ages: true, Negative: keepNoRow}, func(t *testing.T, d *table, c *cache.Cache[string, int]) {
		d.does(nil, func(_ string, l *cache.Load[int]) { l.Err = errNoRow })
		for _, within := range []struct {
			age   time.Duration
			calls int
		}{{time.Second, 1}, {3 * time.Second, 0}, {time.Second, 1}, {0, 1}} {
			if _, err := c.TakeEntry(t.Context(), "a", cache.Within(within.age), nil); err != errNoRow {
				t.Errorf("within %v: %v", within.age, err)
			}
			d.called(t, [][]string{{"a"}}[:within.calls]...)
			time.Sleep(time.Second)
		}
	})
}

// TestNoOld checks that a call can refuse values in Grace, during the load and after it has failed.
func TestNoOld(t *testing.T) {
	tableTest(t, cache.Options[string, int]{Expire: time.Minute, Grace: time.Hour}, func(t *testing.T, d *table, c *cache.Cache[string, int]) {
		c.Set("a", 7)
		time.Sleep(2 * time.Minute)
		d.does(errDown, nil)
		for range 2 { // the second one in the pause
			if _, err := c.TakeEntry(t.Context(), "a", cache.Terms{NoOld: true}, nil); err != errDown {
				t.Errorf("with NoOld: %v", err)
			}
			d.called(t, []string{"a"})
		}
		if e, err := c.TakeEntry(t.Context(), "a", cache.Terms{}, nil); err != nil || e.Value != 7 || !e.InGrace || e.TTL >= 0 {
			t.Errorf("without: %+v, %v", e, err)
		}
		time.Sleep(time.Minute)
		d.does(nil, nil)
		takeEntry(t, c, cache.Terms{NoOld: true}, 1, time.Second)
	})
}

// TestNoStore checks that what a call loads is not stored, unless another call has joined the load.
func TestNoStore(t *testing.T) {
	tableTest(t, cache.Options[string, int]{Expire: time.Minute, Refresh: 0.5, Grace: time.Hour, Negative: keepNoRow}, func(t *testing.T, d *table, c *cache.Cache[string, int]) {
		if e := takeEntry(t, c, cache.Terms{NoStore: true}, 1, time.Second); e.TTL != 0 || e.Due || e.InGrace {
			t.Errorf("not stored: %+v", e)
		}
		if e, ok := c.Stale("a"); ok {
			t.Errorf("the cache has %+v", e)
		}
		d.called(t, []string{"a"})

		c.Set("a", 7)
		time.Sleep(40 * time.Second)
		if e, err := c.TakeEntry(t.Context(), "a", cache.Terms{NoStore: true}, nil); err != nil || e.Value != 7 || !e.Due {
			t.Errorf("due: %+v, %v", e, err)
		}
		d.called(t)
		time.Sleep(40 * time.Second)
		takeEntry(t, c, cache.Terms{NoStore: true}, 1, time.Second)
		if e, ok := c.Stale("a"); e.Value != 7 || !ok {
			t.Errorf("the old value is %+v, %t", e, ok)
		}
		d.does(nil, func(_ string, l *cache.Load[int]) { l.Err = errNoRow })
		if _, err := c.TakeEntry(t.Context(), "a", cache.Terms{NoStore: true, NoOld: true}, nil); err != errNoRow {
			t.Errorf("an error: %v", err)
		}
		d.does(nil, func(_ string, l *cache.Load[int]) { l.Gone = true })
		if _, err := c.TakeEntry(t.Context(), "a", cache.Terms{NoStore: true}, nil); !errors.Is(err, cache.ErrNotFound) {
			t.Errorf("of a row that is gone: %v", err)
		}
		d.does(nil, nil)
		if e, ok := c.Stale("a"); e.Value != 7 || !ok {
			t.Errorf("after errors the old value is %+v, %t", e, ok)
		}
		takeEntry(t, c, cache.Terms{NoStore: true, NoOld: true}, 1, time.Second)
		d.called(t, []string{"a"}, []string{"a"}, []string{"a"}, []string{"a"})

		c.Del("a")
		go func() {
			time.Sleep(time.Second / 2)
			if v, err := c.Fetch(t.Context(), "a"); v != 1 || err != nil {
				t.Errorf("Fetch = %d, %v", v, err)
			}
		}()
		takeEntry(t, c, cache.Terms{NoStore: true}, 1, time.Second)
		d.called(t, []string{"a"})
		if v, ok := c.Get("a"); v != 1 || !ok {
			t.Errorf("after a Fetch has joined, the cache has %d, %t", v, ok)
		}
	})
}

// TestNoStoreBesideALoad checks that a call that stores nothing keeps no other load from being stored, nor a
// value from being renewed.
func TestNoStoreBesideALoad(t *testing.T) {
	noStore := cache.Within(0)
	noStore.NoStore = true
	tableTest(t, cache.Options[string, int]{Expire: time.Minute, Refresh: 0.5}, func(t *testing.T, d *table, c *cache.Cache[string, int]) {
		go func() { _, _ = c.Fetch(t.Context(), "a") }()
		time.Sleep(time.Second / 2)
		takeEntry(t, c, noStore, 1, time.Second)
		if e, ok := c.Entry("a"); e.Value != 1 || !ok {
			t.Errorf("the cache has %+v, %t", e, ok)
		}
		d.called(t, []string{"a"}, []string{"a"})

		c.Set("a", 7)
		time.Sleep(30*time.Second - time.Second/2)
		go takeEntry(t, c, noStore, 1, time.Second)
		time.Sleep(time.Second / 2)
		if v, err := c.Fetch(t.Context(), "a"); v != 7 || err != nil {
			t.Errorf("of a value that is due: %d, %v", v, err)
		}
		time.Sleep(time.Second)
		if v, ok := c.Get("a"); v != 1 || !ok {
			t.Errorf("a renewal that has joined the load: %d, %t", v, ok)
		}
		d.called(t, []string{"a"})
	})
	tableTest(t, cache.Options[string, int]{Expire: time.Minute, Grace: time.Hour}, func(t *testing.T, d *table, c *cache.Cache[string, int]) {
		c.Set("a", 7)
		time.Sleep(2 * time.Minute)
		go takeEntry(t, c, cache.Terms{NoStore: true}, 1, time.Second)
		time.Sleep(time.Second / 2)
		if v, err := c.Fetch(t.Context(), "a"); v != 7 || err != nil {
			t.Errorf("of a value in Grace: %d, %v", v, err)
		}
		time.Sleep(time.Second)
		if v, ok := c.Get("a"); v != 1 || !ok {
			t.Errorf("after a load that a Fetch has relied on: %d, %t", v, ok)
		}
		d.called(t, []string{"a"})
	})
}

// TestTTLOfWhatIsNotStored checks that a value that was loaded and not stored has no TTL.
func TestTTLOfWhatIsNotStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		for name, load := range map[string]func(c *cache.Cache[string, int], l *cache.Load[int]) int{
			"too heavy":     func(*cache.Cache[string, int], *cache.Load[int]) int { return 20 },
			"negative":      func(_ *cache.Cache[string, int], l *cache.Load[int]) int { l.Expire = -1; return 1 },
			"changed":       func(c *cache.Cache[string, int], _ *cache.Load[int]) int { c.Del("k"); return 1 },
			"closed":        func(c *cache.Cache[string, int], _ *cache.Load[int]) int { _ = c.Close(ctx); return 1 },
			"old and gone":  func(c *cache.Cache[string, int], l *cache.Load[int]) int { c.Del("k"); l.Unchanged = true; return 1 },
			"old and there": func(_ *cache.Cache[string, int], l *cache.Load[int]) int { l.Unchanged = true; return 1 },
		} {
			c := cache.Must(cache.Options[string, int]{Expire: time.Hour, Grace: time.Hour, MaxWeight: 10, Weigh: func(_ string, v int) uint32 { return uint32(v) }})
			c.Set("k", 1)
			c.Expire("k")
			e, err := c.TakeEntry(ctx, "k", cache.Terms{NoOld: true}, func(_ context.Context, l *cache.Load[int]) (int, error) { return load(c, l), nil })
			want := time.Duration(0)
			if name == "old and there" {
				want = time.Hour
			}
			if err != nil || e.TTL != want || e.Due || e.InGrace {
				t.Errorf("%s: %+v, %v", name, e, err)
			}
			cache.MustClose(t, c)
		}
	})
}

// TestPatienceByCall checks how long a call waits for a value in Grace.
func TestPatienceByCall(t *testing.T) {
	tableTest(t, cache.Options[string, int]{Expire: time.Minute, Grace: time.Hour, Patience: 200 * time.Millisecond}, func(t *testing.T, d *table, c *cache.Cache[string, int]) {
		for patience, waits := range map[time.Duration]time.Duration{0: 200 * time.Millisecond, -1: 0, 500 * time.Millisecond: 500 * time.Millisecond} {
			c.Set("a", 7)
			time.Sleep(2 * time.Minute)
			before := time.Now()
			if e, err := c.TakeEntry(t.Context(), "a", cache.Terms{Patience: patience}, nil); err != nil || e.Value != 7 || !e.InGrace {
				t.Errorf("Patience %v: %+v, %v", patience, e, err)
			}
			if waited := time.Since(before); waited != waits {
				t.Errorf("Patience %v: waited %v", patience, waited)
			}
			time.Sleep(time.Second)
			d.called(t, []string{"a"})
		}
		c.Set("a", 7)
		time.Sleep(2 * time.Minute)
		takeEntry(t, c, cache.Terms{Patience: 2 * time.Second}, 1, time.Second)
	})
}

// TestTakeEntry checks the rest: a function by call, a renewal of a value that is due, gets that are counted
// once each, and what is refused.
func TestTakeEntry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.Must(cache.Options[string, int]{Expire: time.Minute, Refresh: 0.5, Grace: time.Minute, Ages: true})
		defer cache.MustClose(t, c)
		calls := 0
		ctx := context.Background()
		take := func(terms cache.Terms) (cache.Entry[string, int], error) {
			return c.TakeEntry(ctx, "k", terms, func(_ context.Context, l *cache.Load[int]) (int, error) {
				calls++
				l.Unchanged = l.HasOld
				return calls, nil
			})
		}
		for i, after := range []struct {
			sleep  time.Duration
			terms  cache.Terms
			due    bool
			age    time.Duration
			calls  int
			misses uint64
		}{
			{calls: 1, misses: 1},
			{sleep: 40 * time.Second, due: true, age: 40 * time.Second, calls: 2, misses: 1}, // renews it in the background
			{sleep: time.Second, age: time.Second, calls: 2, misses: 1},
			{sleep: time.Second, terms: cache.Within(time.Second), calls: 3, misses: 2}, // Unchanged is as good as a new value
			{sleep: 10 * time.Second, age: 10 * time.Second, calls: 3, misses: 2},
			{sleep: time.Minute, due: true, age: 70 * time.Second, calls: 4, misses: 2}, // in Grace
		} {
			time.Sleep(after.sleep)
			e, err := take(after.terms)
			synctest.Wait()
			if off := e.Age - after.age; err != nil || e.Value != 1 || e.Due != after.due || e.InGrace != (i == 5) || off > 17*time.Millisecond || off < -17*time.Millisecond {
				t.Errorf("call %d: %+v, %v, want age %v", i, e, err, after.age)
			}
			if s := c.Stats(); s.Misses != after.misses || s.Gets() != uint64(i+1) || calls != after.calls {
				t.Errorf("call %d: %d misses of %d gets, and %d loads", i, s.Misses, s.Gets(), calls)
			}
		}
		if n := testing.AllocsPerRun(10, func() { _, _ = c.TakeEntry(ctx, "k", cache.Within(time.Minute), noFetch) }); n != 0 {
			t.Errorf("a hit makes %v allocations", n)
		}
		if _, err := cache.Must(cache.Options[string, int]{}).TakeEntry(ctx, "k", cache.Within(time.Hour), noFetch); !errors.Is(err, cache.ErrArgument) {
			t.Errorf("without Ages: %v", err)
		}
		if _, err := c.TakeEntry(ctx, "k", cache.Terms{}, nil); !errors.Is(err, cache.ErrArgument) {
			t.Errorf("with neither fetch nor loader: %v", err)
		}
	})
}

// TestTakeEntryCounts checks that TakeEntry counts, and uses an entry, as Get does, and joins a batch as Fetch.
func TestTakeEntryCounts(t *testing.T) {
	tableTest(t, cache.Options[string, int]{Limit: 2, Expire: time.Hour, HotKeys: 10}, func(t *testing.T, d *table, c *cache.Cache[string, int]) {
		c.Set("b", 1)
		c.Set("a", 7)
		c.Set("b", 1)
		takeEntry(t, c, cache.Terms{}, 7, -1)
		c.Set("c", 1)
		if _, ok := c.Peek("a"); !ok {
			t.Error("TakeEntry is no use of the entry")
		}
		if keys := c.HotKeys(); !slices.ContainsFunc(keys, func(k cache.HotKey[string]) bool { return k.Key == "a" }) {
			t.Errorf("the hot keys are %v", keys)
		}
		if _, err := c.TakeEntry(t.Context(), "b", cache.Terms{}, nil); err != nil { // which was evicted
			t.Error(err)
		}
		time.Sleep(time.Hour)
		if _, err := c.TakeEntry(t.Context(), "b", cache.Terms{}, nil); err != nil {
			t.Error(err)
		}
		if s := c.Stats(); s.MissesEvicted != 1 || s.Misses != 2 {
			t.Errorf("%d misses, %d of what was evicted", s.Misses, s.MissesEvicted)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		d := &table{rows: map[string]int{"a": 1, "b": 2}}
		c := cache.Must(cache.Options[string, int]{LoadMany: d.loadMany, Batch: 10 * time.Millisecond})
		defer cache.MustClose(t, c)
		go func() { _, _ = c.TakeEntry(t.Context(), "a", cache.Terms{}, nil) }()
		time.Sleep(time.Millisecond)
		if e, err := c.TakeEntry(t.Context(), "b", cache.Terms{}, nil); err != nil || e.Value != 2 {
			t.Errorf("%+v, %v", e, err)
		}
		d.called(t, []string{"a", "b"})
	})
}

// TestTermsInGrace checks what terms refuse of a value in Grace, when loads fail or are slow.
func TestTermsInGrace(t *testing.T) {
	tableTest(t, cache.Options[string, int]{Expire: time.Minute, Grace: time.Hour, Ages: true, Negative: keepNoRow}, func(t *testing.T, d *table, c *cache.Cache[string, int]) {
		c.Set("a", 7)
		time.Sleep(2 * time.Minute)
		d.does(errDown, nil)
		if _, err := c.TakeEntry(t.Context(), "a", cache.Within(time.Second), nil); err != errDown {
			t.Errorf("within a second, of a load that fails: %v", err)
		}
		d.does(nil, func(_ string, l *cache.Load[int]) { l.Err = errNoRow })
		time.Sleep(time.Minute)
		if _, err := c.TakeEntry(t.Context(), "a", cache.Terms{NoStore: true}, nil); err != errNoRow {
			t.Errorf("with NoStore, of what does not exist: %v", err)
		}
		d.does(nil, nil)
		if v, err := c.Fetch(t.Context(), "a"); v != 7 || err != nil {
			t.Errorf("Fetch = %d, %v", v, err)
		}
		time.Sleep(time.Second / 2)
		takeEntry(t, c, cache.Terms{NoStore: true}, 1, time.Second)
	})
}
