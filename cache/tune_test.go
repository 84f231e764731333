package cache_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/internal/base"
	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

// tune changes options, and wants no error.
func tune[K comparable, V any](t *testing.T, c *cache.Cache[K, V], change func(*cache.Tuning)) {
	t.Helper()
	if _, err := c.Tune(change); err != nil {
		t.Error(err)
	}
}

// TestTuneRefuses checks that what New refuses Tune does too, names all mistakes, and changes nothing.
func TestTuneRefuses(t *testing.T) {
	type options = cache.Options[int, int]
	for _, test := range []struct {
		o      options
		change func(*cache.Tuning)
		want   []string
	}{
		{options{}, func(to *cache.Tuning) { to.Expire, to.MaxLoads = 60, -1 }, []string{"Expire is 60ns: want at least 1ms", "MaxLoads is -1: want"}},
		{options{}, func(to *cache.Tuning) { to.Grace = time.Second }, []string{"Grace is 1s in a cache made without Grace, Refresh and RefreshAfter: want"}},
		{options{Refresh: 0.5}, func(to *cache.Tuning) { to.Patience = time.Second }, []string{"Patience is 1s without Grace: want"}},
		{options{Grace: time.Hour, Patience: time.Second}, func(to *cache.Tuning) { to.Grace = 0 }, []string{"Patience is 1s without Grace: want"}},
		{options{Grace: time.Hour, Timeout: time.Second}, func(to *cache.Tuning) { to.Patience = time.Second }, []string{"Patience is 1s and Timeout 1s: want"}},
		{options{RefreshAfter: time.Minute}, func(to *cache.Tuning) { to.Expire = time.Minute }, []string{"RefreshAfter is 1m0s and Expire 1m0s: want"}},
		{options{ExpireBy: func(_, _ int) time.Duration { return time.Hour }}, func(to *cache.Tuning) { to.Expire = time.Hour }, []string{"both Expire (1h0m0s) and ExpireBy are set: want"}},
	} {
		c := cache.Must(test.o)
		before, _ := c.Tune(nil)
		got, err := c.Tune(func(to *cache.Tuning) { to.Bypass = true; test.change(to) })
		if after, _ := c.Tune(nil); got != before || after != before || !errors.Is(err, cache.ErrArgument) {
			t.Errorf("Tune returns %+v, %v; afterwards %+v holds, before %+v", got, err, after, before)
		}
		for _, want := range test.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
	}
	near := cache.Must(options{Refresh: 0.5})
	cache.For(near).Amend(base.Owner{})
	for _, change := range []func(*cache.Tuning){func(to *cache.Tuning) { to.Grace = time.Second }, func(to *cache.Tuning) { to.Expire = time.Second }} {
		if _, err := near.Tune(change); !errors.Is(err, cache.ErrArgument) || !strings.Contains(err.Error(), "do not change in a near cache") {
			t.Errorf("of a near cache: %v", err)
		}
	}
	tune(t, near, func(to *cache.Tuning) { to.MaxLoads, to.Bypass = 1, true })
}

// TestTuneTogether checks that no change is lost when several goroutines tune, also within Tune, and that
// change is called again if another came in between.
func TestTuneTogether(t *testing.T) {
	c, calls := cache.Must(cache.Options[int, int]{}), 0
	more := func(to *cache.Tuning) { to.MaxLoads++ }
	got, err := c.Tune(func(to *cache.Tuning) {
		if calls++; calls == 1 {
			tune(t, c, more)
		}
		more(to)
	})
	if got.MaxLoads != 2 || err != nil || calls != 2 {
		t.Errorf("%+v, %v after %d calls", got, err, calls)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 1000 {
				tune(t, c, more)
			}
		})
	}
	all.Wait()
	if got, _ := c.Tune(nil); got.MaxLoads != 4002 {
		t.Errorf("%+v, want 4002 loads", got)
	}
}

// TestTuneGrace checks that another Grace is that of values that the cache has, in Grace or not: a longer
// one lets them stand in for longer, and with a shorter one they go at the next tick.
func TestTuneGrace(t *testing.T) {
	failing := errors.New("failing")
	for _, o := range []cache.Options[int, int]{{Grace: 10 * time.Second}, {Refresh: 0.5}} {
		synctest.Test(t, func(t *testing.T) {
			var left []time.Duration
			began := time.Now()
			o := o
			o.Expire, o.Workers = time.Second, 1
			o.OnRemove = func(e cache.Event[int, int]) { left = append(left, time.Since(began)) }
			c := cache.Must(o)
			take := func(key int) error {
				_, err := c.Take(key, func() (int, error) { return 0, failing })
				return err
			}
			tune(t, c, func(to *cache.Tuning) { to.Grace = time.Second })
			c.Set(1, 1)
			c.SetWithExpire(2, 2, time.Minute)
			time.Sleep(1500 * time.Millisecond)
			tune(t, c, func(to *cache.Tuning) { to.Grace = time.Hour })
			time.Sleep(time.Minute)
			if in1, in2 := take(1), take(2); in1 != nil || in2 != nil || c.Len() != 2 {
				t.Errorf("%v and %v within a longer Grace, %d entries", in1, in2, c.Len())
			}
			tune(t, c, func(to *cache.Tuning) { to.Grace = 2 * time.Second }) // at 61.5 s: 2 has half a second left
			if in1, in2 := take(1), take(2); in1 != failing || in2 != nil {
				t.Errorf("%v and %v after and within a shorter Grace", in1, in2)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			cache.WantWhole(t, c)
			if late := c.Stats().Expiry.Lateness.Quantile(1); late > time.Second {
				t.Errorf("%v late, as if the shorter Grace had always been", late)
			}
			for i, end := range []time.Duration{61500 * time.Millisecond, 62 * time.Second} {
				if len(left) != 2 || left[i] < end || left[i] > end+c.Tick() {
					t.Errorf("values left after %v, want %d at %v", left, i, end)
				}
			}
			cache.MustClose(t, c)
		})
	}
}

// TestTunePatience checks that callers wait for a load as long as Tune says.
func TestTunePatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.Must(cache.Options[int, int]{Expire: time.Second, Grace: time.Hour})
		for _, patience := range []time.Duration{0, 300 * time.Millisecond, time.Second, 0} {
			tune(t, c, func(to *cache.Tuning) { to.Patience = patience })
			c.Set(1, 1)
			time.Sleep(2 * time.Second)
			began := time.Now()
			v, err := c.TakeCtx(t.Context(), 1, func(context.Context) (int, error) { time.Sleep(time.Minute); return 2, nil })
			if waited := time.Since(began); v != 1 || err != nil || waited != patience {
				t.Errorf("%d, %v after %v, want 1 after %v", v, err, waited, patience)
			}
			time.Sleep(time.Minute)
		}
		cache.MustClose(t, c)
	})
}

// TestTuneMaxLoads checks that MaxLoads can be set, raised, lowered and lifted while loads run and wait, in a
// cache made with it or without.
func TestTuneMaxLoads(t *testing.T) {
	for _, most := range []int{0, 7} {
		synctest.Test(t, func(t *testing.T) {
			c, running, next := cache.Must(cache.Options[int, int]{MaxLoads: most}), 0, 0
			var mu sync.Mutex
			count := func(n int) {
				mu.Lock()
				defer mu.Unlock()
				running += n
			}
			takes := func(n int) {
				for range n {
					next++
					key := next
					go c.Take(key, func() (int, error) {
						count(1)
						defer count(-1)
						time.Sleep(time.Duration(key) * time.Second)
						return 7, nil
					})
					synctest.Wait()
				}
			}
			want := func(when string, n int) {
				t.Helper()
				synctest.Wait()
				mu.Lock()
				defer mu.Unlock()
				if running != n {
					t.Errorf("%s: %d run, want %d", when, running, n)
				}
			}
			set := func(most int) { tune(t, c, func(to *cache.Tuning) { to.MaxLoads = most }) }
			set(2)
			takes(4)
			want("set", 2)
			set(3)
			want("raised", 3)
			takes(1)
			set(1) // 1, 2 and 3 run until their second; 4 and 5 wait
			time.Sleep(2500 * time.Millisecond)
			want("lowered", 1)
			time.Sleep(time.Second)
			want("lowered, and the next", 1)
			set(0)
			want("lifted", 2)
			takes(3)
			want("without", 5)
			set(1)
			takes(1)
			want("set again", 5)
			time.Sleep(time.Hour)
			want("at the end", 0)
			cache.MustClose(t, c)
		})
	}
}

// TestBypass checks that a bypassed cache is empty and stores nothing, that callers share loads, and that
// afterwards the cache stores again, but nothing that was loaded before or meanwhile.
func TestBypass(t *testing.T) {
	for _, o := range []cache.Options[int, int]{{}, {OnRemove: func(cache.Event[int, int]) {}}, {Limit: 10, Expire: time.Minute, Grace: time.Hour}, {MaxWeight: 100, Weigh: func(_, _ int) uint32 { return 1 }}} {
		synctest.Test(t, func(t *testing.T) {
			none := errors.New("none")
			o := o
			o.Negative = func(error) time.Duration { return time.Hour }
			c := cache.Must(o)
			bypass := func(on bool) { tune(t, c, func(to *cache.Tuning) { to.Bypass = on }) }
			loads, calls := 0, sync.WaitGroup{}
			take := func(key int) {
				calls.Go(func() {
					v, err := c.Take(key, func() (int, error) { loads++; time.Sleep(time.Second); return 7, nil })
					if v != 7 || err != nil {
						t.Errorf("Take = %d, %v", v, err)
					}
				})
				synctest.Wait()
			}
			fails := func() (int, error) { loads++; return 0, none }
			empty := func(when string) {
				t.Helper()
				for key := range 10 {
					if v, ok := c.Get(key); ok || c.Len() != 0 {
						t.Errorf("%s: %d has %d, and there are %d entries", when, key, v, c.Len())
					}
				}
			}
			c.Set(1, 1)
			_, _ = c.Take(3, fails)
			take(2)
			bypass(true)
			empty("begun")
			c.Set(1, 1)
			c.SetWithExpire(4, 4, time.Hour)
			actual, loaded := c.GetOrSet(1, 2)
			_, had := c.Swap(1, 3)
			computed, ok := c.Compute(1, func(int, bool) (int, cache.Op) { return 4, cache.OpSet })
			if actual != 2 || loaded || had || computed != 0 || ok {
				t.Errorf("GetOrSet %d, %v; Swap %v; Compute %d, %v", actual, loaded, had, computed, ok)
			}
			take(2) // not the load from before
			take(2)
			if loads != 3 {
				t.Errorf("%d loads, want 3", loads)
			}
			for range 2 { // and no kept error
				if _, err := c.Take(3, fails); err != none {
					t.Errorf("Take = %v", err)
				}
			}
			calls.Wait()
			empty("bypassed")
			if loads != 5 {
				t.Errorf("%d loads, want 5", loads)
			}
			take(5)
			bypass(false)
			take(5) // not the load from the bypass
			if loads != 7 {
				t.Errorf("%d loads, want 7", loads)
			}
			calls.Wait()
			if v, ok := c.Get(5); v != 7 || !ok || c.Len() != 1 {
				t.Errorf("ended: %d, %v, and %d entries", v, ok, c.Len())
			}
			cache.MustClose(t, c)
			bypass(true)
			bypass(false)
			c.Set(1, 1)
			empty("closed")
			cache.WantWhole(t, c)
		})
	}
}

// TestRestoreAcrossBypass checks that a Restore that is under way brings no old values back, whether the bypass
// goes on, has ended, or began before.
func TestRestoreAcrossBypass(t *testing.T) {
	encode := func(dst []byte, key, value int) ([]byte, error) { return binary.AppendVarint(dst, int64(key)), nil }
	saved, from := new(bytes.Buffer), cache.Must(cache.Options[int, int]{})
	for k := range 100 {
		from.Set(k, k)
	}
	settle.Must(t, from.Save(saved, encode))
	for _, limit := range []int{0, 1000} {
		for _, at := range [][2]int{{0, 50}, {50, 50}, {50, 1000}, {-1, 50}} {
			c, n := cache.Must(cache.Options[int, int]{Limit: limit}), 0
			bypass := func(on bool) { tune(t, c, func(to *cache.Tuning) { to.Bypass = on }) }
			if at[0] < 0 {
				bypass(true)
			}
			_, err := c.Restore(bytes.NewReader(saved.Bytes()), func(b []byte) (int, int, error) {
				if n == at[0] {
					bypass(true)
				}
				if n == at[1] {
					bypass(false)
				}
				n++
				key, _ := binary.Varint(b)
				return int(key), 0, nil
			})
			if err != nil || n != 100 || c.Len() != 0 {
				t.Errorf("limit %d, bypassed from %d to %d: %d entries of %d are restored, %v", limit, at[0], at[1], c.Len(), n, err)
			}
			cache.WantWhole(t, c)
		}
	}
}

// TestTuneWhileOthersTake lets the race detector look at Tune beside all that reads what it changes.
func TestTuneWhileOthersTake(t *testing.T) {
	c := cache.Must(cache.Options[int, int]{Limit: 100, Expire: time.Millisecond, Grace: time.Millisecond, OnRemove: func(cache.Event[int, int]) {},
		Negative: func(error) time.Duration { return time.Millisecond }})
	var takers sync.WaitGroup
	var tuned sync.WaitGroup
	stop := make(chan struct{})
	for g := range 4 {
		takers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				key := (n*7 + g) % 200
				_, _ = c.TakeCtx(t.Context(), key, func(ctx context.Context) (int, error) {
					if n%3 == 0 {
						return c.TakeCtx(ctx, key+1000, func(context.Context) (int, error) { return 1, nil })
					}
					return n, []error{nil, errors.New("failing")}[n%2]
				})
				c.Set(key, n)
				c.Get(key + 1)
			}
		})
	}
	for g := range 2 {
		tuned.Go(func() {
			for n := range 2000 {
				tune(t, c, func(to *cache.Tuning) {
					*to = cache.Tuning{Expire: time.Duration(n%3) * time.Millisecond, Grace: time.Duration(1+n%5) * time.Millisecond,
						Patience: time.Duration(n%2) * time.Millisecond, MaxLoads: (n + g) % 4, Bypass: n%50 == 0}
				})
			}
		})
	}
	tuned.Wait()
	close(stop)
	takers.Wait()
	tune(t, c, func(to *cache.Tuning) { to.MaxLoads = 1 })
	for key := range 200 { // a permit that was lost would be missed here
		if _, err := c.Take(-1-key, func() (int, error) { return 1, nil }); err != nil {
			t.Error(err)
		}
	}
	cache.MustClose(t, c)
	cache.WantWhole(t, c)
}
