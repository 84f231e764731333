package cache

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

var errCall = errors.New("down")

// entryTest runs a test in a bubble, with a cache that has 1 under "k".
func entryTest(t *testing.T, o Options[string, int], test func(t *testing.T, c *Cache[string, int])) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(o)
		defer c.Close(context.Background())
		c.Set("k", 1)
		test(t, c)
	})
}

// loadIn returns a fetch that takes some time, and returns a value, or errCall if that is 0.
func loadIn(takes time.Duration, value int) func(context.Context, *Load[int]) (int, error) {
	return func(ctx context.Context, _ *Load[int]) (int, error) {
		select {
		case <-time.After(takes):
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
		if value == 0 {
			return 0, errCall
		}
		return value, nil
	}
}

// wantCall expects what a TakeEntry of "k" returns, and after which time. The entry has no age.
func wantCall(t *testing.T, c *Cache[string, int], how Call, fetch func(context.Context, *Load[int]) (int, error), want Entry[string, int], wantErr error, after time.Duration) {
	t.Helper()
	began := time.Now()
	want.Key = "k"
	e, err := c.TakeEntry(t.Context(), "k", how, fetch)
	if took := time.Since(began); e != want || !errors.Is(err, wantErr) || took != after {
		t.Errorf("TakeEntry, %+v, = %+v, %v after %v; want %+v, %v after %v", how, e, err, took, want, wantErr, after)
	}
}

type anEntry = Entry[string, int]

// TestTakeEntryTellsHowFresh checks what TakeEntry tells of values that it finds, has loaded,
// waited for, or gets in place of a load.
//
// Catches: a value in grace, or due, that is not told to be; the time that a loaded value lives.
func TestTakeEntryTellsHowFresh(t *testing.T) {
	o := Options[string, int]{Expire: time.Minute, Refresh: 0.5, Grace: time.Hour}
	entryTest(t, o, func(t *testing.T, c *Cache[string, int]) {
		var none Call
		wantCall(t, c, none, loadIn(0, 0), anEntry{Value: 1, TTL: time.Minute}, nil, 0)
		time.Sleep(45 * time.Second)
		wantCall(t, c, none, loadIn(time.Second, 0), anEntry{Value: 1, TTL: 15 * time.Second, Due: true}, nil, 0)
		wantCall(t, c, none, loadIn(0, 0), anEntry{Value: 1, TTL: 15 * time.Second, Due: true}, nil, 0)
		time.Sleep(75 * time.Second)
		wantCall(t, c, none, loadIn(time.Second, 0), anEntry{Value: 1, TTL: -time.Minute, Due: true}, nil, 0)
		time.Sleep(time.Second)
		wantCall(t, c, none, loadIn(0, 0), anEntry{Value: 1, TTL: -61 * time.Second, Due: true}, nil, 0) // in the pause
		time.Sleep(time.Minute)
		wantCall(t, c, Call{Patience: time.Second}, loadIn(2*time.Second, 2), anEntry{Value: 1, TTL: -122 * time.Second, Due: true}, nil, time.Second)
		time.Sleep(time.Second)
		synctest.Wait()
		wantCall(t, c, none, loadIn(0, 0), anEntry{Value: 2, TTL: time.Minute}, nil, 0)
		c.Del("k")
		go func() { _, _ = c.TakeWith(t.Context(), "k", loadIn(2*time.Second, 3)) }()
		time.Sleep(time.Second)
		wantCall(t, c, none, loadIn(0, 0), anEntry{Value: 3, TTL: time.Minute}, nil, time.Second)
		c.Del("k")
		wantCall(t, c, none, func(_ context.Context, l *Load[int]) (int, error) {
			l.Expire = -1
			return 4, nil
		}, anEntry{Value: 4}, nil, 0)
		wantCall(t, c, none, func(_ context.Context, l *Load[int]) (int, error) {
			c.Set("k", 6)
			return 5, nil
		}, anEntry{Value: 5}, nil, 0)
		wantCall(t, c, none, loadIn(0, 0), anEntry{Value: 6, TTL: time.Minute}, nil, 0)
		c.Del("k")
		wantCall(t, c, none, loadIn(0, 0), anEntry{}, errCall, 0)
		if s := c.Stats(); s.Hits != 8 || s.Misses != 5 || s.HitsInGrace != 3 {
			t.Errorf("%d hits, %d in grace, and %d misses", s.Hits, s.HitsInGrace, s.Misses)
		}
	})
	o = Options[string, int]{Ages: true}
	entryTest(t, o, func(t *testing.T, c *Cache[string, int]) {
		time.Sleep(time.Minute)
		e, err := c.TakeEntry(t.Context(), "k", Call{}, loadIn(0, 0))
		if e.TTL != math.MaxInt64 || (e.Age-time.Minute).Abs() > 17*time.Millisecond || err != nil {
			t.Errorf("TakeEntry = %+v, %v of a value of a minute", e, err)
		}
		c.Del("k")
		if e, err := c.TakeEntry(t.Context(), "k", Call{}, loadIn(time.Minute, 2)); e.Age > 17*time.Millisecond || err != nil {
			t.Errorf("TakeEntry = %+v, %v of a new value", e, err)
		}
	})
}

// TestCallPatience checks a Patience that is not that of the options.
func TestCallPatience(t *testing.T) {
	for _, tt := range []struct {
		usual, own, waits time.Duration
	}{
		{0, 0, 0},
		{0, time.Second, time.Second},
		{time.Minute, 0, time.Minute},
		{time.Minute, time.Second, time.Second},
		{time.Minute, -1, 0},
	} {
		o := Options[string, int]{Expire: time.Second, Grace: time.Hour, Patience: tt.usual}
		entryTest(t, o, func(t *testing.T, c *Cache[string, int]) {
			time.Sleep(time.Second)
			wantCall(t, c, Call{Patience: tt.own}, loadIn(time.Hour, 2), anEntry{Value: 1, TTL: min(-tt.waits, -1), Due: true}, nil, tt.waits)
		})
	}
}

// TestCallTimeout checks a Timeout that is not that of the options, with and without a value that
// stands in.
//
// Catches: an impatient caller that ends the load of others; a patient one whose load ends at the
// Timeout of the options; a load that goes on though nobody waits for it.
func TestCallTimeout(t *testing.T) {
	o := Options[string, int]{Expire: time.Second, Timeout: 10 * time.Second}
	entryTest(t, o, func(t *testing.T, c *Cache[string, int]) {
		c.Del("k")
		ended := make(chan error, 1)
		wantCall(t, c, Call{Timeout: time.Second}, func(ctx context.Context, _ *Load[int]) (int, error) {
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return 0, ctx.Err()
		}, anEntry{}, ErrTimeout, time.Second)
		if err := <-ended; !errors.Is(err, ErrTimeout) {
			t.Errorf("the load of a caller who has left ends by %v", err)
		}
		synctest.Wait()

		others := make(chan string, 1)
		go func() {
			time.Sleep(time.Second)
			v, err := c.Take("k", func() (int, error) { return 0, errCall })
			others <- fmt.Sprint(v, err)
		}()
		wantCall(t, c, Call{Timeout: 2 * time.Second}, loadIn(5*time.Second, 2), anEntry{}, ErrTimeout, 2*time.Second)
		if got := <-others; got != "2 <nil>" {
			t.Errorf("a caller who joined gets %s", got)
		}
		time.Sleep(time.Minute)

		go func() { _, _ = c.Take("k", func() (int, error) { time.Sleep(5 * time.Second); return 3, nil }) }()
		synctest.Wait()
		wantCall(t, c, Call{Timeout: 2 * time.Second}, loadIn(0, 0), anEntry{}, ErrTimeout, 2*time.Second)
		time.Sleep(time.Minute)

		wantCall(t, c, Call{}, loadIn(20*time.Second, 4), anEntry{}, ErrTimeout, 10*time.Second)
		synctest.Wait()
		wantCall(t, c, Call{Timeout: 15 * time.Second}, loadIn(20*time.Second, 4), anEntry{}, ErrTimeout, 15*time.Second)
		synctest.Wait()
		wantCall(t, c, Call{Timeout: 30 * time.Second}, loadIn(20*time.Second, 4), anEntry{Value: 4, TTL: time.Second}, nil, 20*time.Second)
		c.Del("k")
		wantCall(t, c, Call{Timeout: -1}, loadIn(time.Hour, 5), anEntry{Value: 5, TTL: time.Second}, nil, time.Hour)
	})
	o = Options[string, int]{Expire: time.Second, Grace: time.Hour}
	entryTest(t, o, func(t *testing.T, c *Cache[string, int]) {
		time.Sleep(time.Second)
		wantCall(t, c, Call{Timeout: time.Second, Patience: time.Hour}, loadIn(time.Hour, 2), anEntry{Value: 1, TTL: -time.Second, Due: true}, nil, time.Second)
		wantCall(t, c, Call{Timeout: time.Second, NoGrace: true}, loadIn(time.Hour, 2), anEntry{}, ErrTimeout, time.Second)
	})
}

// TestCallNoGrace checks a call to whom a value in Grace is as good as none.
//
// Catches: an old value where none is wanted, in place of a load that fails, is slow or was put
// off; one that is lost for others; a value that is only due and refused.
func TestCallNoGrace(t *testing.T) {
	o := Options[string, int]{Expire: time.Minute, Refresh: 0.5, Grace: time.Hour, MaxLoads: 1}
	entryTest(t, o, func(t *testing.T, c *Cache[string, int]) {
		fresh := Call{NoGrace: true, Patience: time.Second}
		time.Sleep(45 * time.Second)
		wantCall(t, c, fresh, loadIn(0, 0), anEntry{Value: 1, TTL: 15 * time.Second, Due: true}, nil, 0)
		time.Sleep(15 * time.Second)
		wantCall(t, c, fresh, loadIn(time.Minute, 0), anEntry{}, errCall, time.Minute)
		wantCall(t, c, Call{}, loadIn(0, 0), anEntry{Value: 1, TTL: -time.Minute, Due: true}, nil, 0)
		wantCall(t, c, fresh, loadIn(0, 0), anEntry{}, errCall, 0) // in the pause
		go func() { _, _ = c.Take("other", func() (int, error) { time.Sleep(time.Minute); return 1, nil }) }()
		synctest.Wait()
		wantCall(t, c, fresh, loadIn(0, 2), anEntry{Value: 2, TTL: time.Minute}, nil, time.Minute) // for a permit
		if s := c.Stats(); s.HitsInGrace != 1 || s.MissesExpired != 3 {
			t.Errorf("%d hits in grace, and %d misses of what has expired", s.HitsInGrace, s.MissesExpired)
		}
	})
}

// TestCallReload checks a call that wants a load whatever is stored.
//
// Catches: what is stored in place of a load; a load that fails and leaves nothing; a caller to
// whom Patience returns what it does not want.
func TestCallReload(t *testing.T) {
	again := Call{Reload: true}
	for _, o := range []Options[string, int]{{Expire: time.Minute}, {Expire: time.Minute, Refresh: 0.9, Grace: time.Hour, Patience: time.Second}} {
		entryTest(t, o, func(t *testing.T, c *Cache[string, int]) {
			time.Sleep(time.Second)
			wantCall(t, c, again, loadIn(time.Minute/2, 2), anEntry{Value: 2, TTL: time.Minute}, nil, time.Minute/2)
			time.Sleep(time.Second)
			wantCall(t, c, again, loadIn(time.Second, 0), anEntry{Value: 2, TTL: 58 * time.Second}, nil, time.Second)
			wantCall(t, c, again, func(_ context.Context, l *Load[int]) (int, error) {
				if l.Old != 2 || !l.HasOld {
					t.Errorf("the load is told of %d, %t", l.Old, l.HasOld)
				}
				l.NotFound = true
				return 0, errCall
			}, anEntry{}, errCall, 0)
			if s := c.Stats(); s.Hits != 0 || s.Misses != 0 {
				t.Errorf("%d hits and %d misses", s.Hits, s.Misses)
			}
			_, _ = c.TakeWith(t.Context(), "k", func(_ context.Context, l *Load[int]) (int, error) {
				l.KeepError = time.Hour
				return 0, errCall
			})
			wantCall(t, c, again, loadIn(0, 3), anEntry{Value: 3, TTL: time.Minute}, nil, 0) // whatever was kept
			go func() { _, _ = c.TakeEntry(t.Context(), "k", again, loadIn(time.Second, 4)) }()
			synctest.Wait()
			wantCall(t, c, again, loadIn(0, 0), anEntry{Value: 4, TTL: time.Minute}, nil, time.Second) // joins it
		})
	}
	entryTest(t, Options[string, int]{Expire: time.Minute, Grace: time.Hour}, func(t *testing.T, c *Cache[string, int]) {
		time.Sleep(2 * time.Minute)
		wantCall(t, c, again, loadIn(time.Second, 0), anEntry{Value: 1, TTL: -61 * time.Second, Due: true}, nil, time.Second)
		wantCall(t, c, Call{Reload: true, NoGrace: true}, loadIn(time.Second, 0), anEntry{}, errCall, time.Second)
		if s := c.Stats(); s.Hits+s.Misses+s.HitsInGrace != 0 {
			t.Errorf("%d hits, %d in grace, and %d misses", s.Hits, s.HitsInGrace, s.Misses)
		}
	})
}

// TestCallNoStore checks loads that are not stored.
//
// Catches: a result that is stored, or an error that is kept; one that takes what is stored away,
// or makes it due; a load that is not stored though somebody else has joined it.
func TestCallNoStore(t *testing.T) {
	apart := Call{NoStore: true}
	o := Options[string, int]{Expire: time.Minute, Refresh: 0.5, Grace: time.Hour, Negative: func(error) time.Duration { return time.Hour }}
	entryTest(t, o, func(t *testing.T, c *Cache[string, int]) {
		wantCall(t, c, Call{NoStore: true, Reload: true}, loadIn(time.Second, 2), anEntry{Value: 2}, nil, time.Second)
		wantCall(t, c, Call{NoStore: true, Reload: true}, func(_ context.Context, l *Load[int]) (int, error) {
			l.Expire = -1
			return 3, nil
		}, anEntry{Value: 3}, nil, 0)
		wantCall(t, c, apart, loadIn(0, 0), anEntry{Value: 1, TTL: 59 * time.Second}, nil, 0)
		time.Sleep(44 * time.Second)
		wantCall(t, c, apart, loadIn(0, 4), anEntry{Value: 1, TTL: 15 * time.Second, Due: true}, nil, 0) // begins no refresh
		time.Sleep(time.Minute)
		wantCall(t, c, apart, loadIn(time.Second, 5), anEntry{Value: 5}, nil, time.Second)
		wantCall(t, c, apart, loadIn(time.Second, 0), anEntry{Value: 1, TTL: -47 * time.Second, Due: true}, nil, time.Second)
		if s := c.Stats(); s.Sets != 1 || s.Negatives != 0 || s.Loads.Refreshes.OK+s.Loads.Refreshes.Failed+s.Loads.Refreshes.Dropped != 0 {
			t.Errorf("%d values are stored, %d errors, and the refreshes are %+v", s.Sets, s.Negatives, s.Loads.Refreshes)
		}

		c.Del("k")
		go func() {
			wantCall(t, c, apart, loadIn(2*time.Second, 6), anEntry{Value: 6, TTL: time.Minute}, nil, 2*time.Second)
		}()
		time.Sleep(time.Second)
		if v, err := c.Take("k", func() (int, error) { return 0, errCall }); v != 6 || err != nil {
			t.Errorf("Take, which joins, = %d, %v", v, err)
		}
		wantCall(t, c, apart, loadIn(0, 0), anEntry{Value: 6, TTL: time.Minute}, nil, 0)
		synctest.Wait()
	})
}

// TestTakeEntryByTheLoader checks that without a fetch the loader of the options is asked, and
// that a hit allocates nothing.
func TestTakeEntryByTheLoader(t *testing.T) {
	byEither(t, Options[string, int]{Expire: time.Hour, Refresh: 0.5, Grace: time.Hour}, func(t *testing.T, c *Cache[string, int], d *loader) {
		for range 2 {
			if e, err := c.TakeEntry(t.Context(), "k", Call{Patience: time.Second}, nil); e.Value != 1 || e.TTL != time.Hour || err != nil {
				t.Errorf("TakeEntry = %+v, %v", e, err)
			}
		}
		ctx := t.Context()
		if n := testing.AllocsPerRun(100, func() { _, _ = c.TakeEntry(ctx, "k", Call{Patience: time.Second}, nil) }); n != 0 {
			t.Errorf("%v allocations at a hit", n)
		}
		if e, err := c.TakeEntry(ctx, "k", Call{Reload: true}, nil); e.Value != 2 || err != nil {
			t.Errorf("TakeEntry = %+v, %v", e, err)
		}
		time.Sleep(45 * time.Minute)
		if e, err := c.TakeEntry(ctx, "k", Call{}, nil); e.Value != 2 || !e.Due || err != nil {
			t.Errorf("TakeEntry = %+v, %v", e, err)
		}
		time.Sleep(d.takes)
		synctest.Wait()
		if v, _ := c.Peek("k"); v != 3 {
			t.Errorf("after a refresh there is %d", v)
		}
	})
}
