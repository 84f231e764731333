package cache_test

import (
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

// A source is what TakeMany fetches from: it knows the keys up to 99, counts how often
// each was asked for, and takes a second for an answer.
type source struct {
	mu      sync.Mutex
	fetched map[int]int
	calls   [][]int
	fails   error
}

func (s *source) fetch(_ context.Context, keys []int) (map[int]int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fetched == nil {
		s.fetched = map[int]int{}
	}
	s.calls = append(s.calls, slices.Clone(keys))
	values := map[int]int{-7: 7} // nobody asks for
	for _, key := range keys {
		s.fetched[key]++
		if key < 100 {
			values[key] = 10 * key
		}
	}
	clear(keys) // they are its own
	fails := s.fails
	s.mu.Unlock()
	time.Sleep(time.Second)
	s.mu.Lock()
	return values, fails
}

// wantMany wants TakeMany to have returned values that are ten times their keys.
func wantMany(t *testing.T, got map[int]int, err error, want ...int) {
	t.Helper()
	if keys := slices.Sorted(maps.Keys(got)); err != nil || !slices.Equal(keys, want) {
		t.Errorf("TakeMany = %v, %v; want values of %v", got, err, want)
	}
	for key, value := range got {
		if value != 10*key {
			t.Errorf("the value of %d is %d", key, value)
		}
	}
}

// wantCalls wants the calls so far, once nothing more runs.
func wantCalls(t *testing.T, s *source, want ...[]int) {
	t.Helper()
	synctest.Wait()
	if !slices.EqualFunc(s.calls, want, slices.Equal) {
		t.Errorf("fetches of %v, want %v", s.calls, want)
	}
}

// TestTakeMany checks that one fetch loads the missing keys, each once; keys that it
// leaves out are absent, as all are with a nil map, and values of other keys are ignored.
func TestTakeMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, ctx := range map[string]context.Context{"inline": context.Background(), "goroutine": t.Context()} {
			var s source
			c := cache.Must(cache.Options[int, int]{Name: name})
			c.Set(2, 20)
			got, err := c.TakeMany(ctx, []int{3, 2, 1, 3, 100, 2, 1, 100}, s.fetch)
			wantMany(t, got, err, 1, 2, 3)
			wantCalls(t, &s, []int{3, 1, 100})
			got, err = c.TakeMany(ctx, []int{1, 2, 3}, s.fetch)
			wantMany(t, got, err, 1, 2, 3)
			got, err = c.TakeMany(ctx, nil, s.fetch)
			wantMany(t, got, err)
			got, err = c.TakeMany(ctx, []int{100}, func(context.Context, []int) (map[int]int, error) { return nil, nil })
			wantMany(t, got, err)
			if got := maps.Collect(c.All()); !maps.Equal(got, map[int]int{1: 10, 2: 20, 3: 30}) {
				t.Errorf("the cache has %v", got)
			}
			if st := c.Stats(); len(s.calls) != 1 || st.Hits != 4 || st.Misses != 4 || st.Sets != 3 || st.Loads.OK.Count() != 2 || st.Loads.Failed.Count() != 0 {
				t.Errorf("%d calls, %+v", len(s.calls), st)
			}
			cache.WantWhole(t, c)
		}
	})
}

// TestTakeManyShares checks that each key is fetched once: TakeMany waits for loads of
// others, and single Takes for its loads. A key that fetch leaves out they fetch
// themselves.
func TestTakeManyShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s source
		var others sync.WaitGroup
		c := cache.Must(cache.Options[int, int]{})
		take := func(key int, want int) {
			others.Go(func() {
				v, err := c.TakeCtx(t.Context(), key, func(ctx context.Context) (int, error) {
					values, err := s.fetch(ctx, []int{key})
					return values[min(key, 99)], err
				})
				if v != want || err != nil {
					t.Errorf("TakeCtx(%d) = %d, %v", key, v, err)
				}
			})
			synctest.Wait()
		}
		take(1, 10)
		others.Go(func() {
			got, err := c.TakeMany(t.Context(), []int{1, 2, 3, 100, 101}, s.fetch)
			wantMany(t, got, err, 1, 2, 3)
		})
		synctest.Wait()
		take(3, 30)
		take(100, 0)
		others.Go(func() {
			got, err := c.TakeMany(t.Context(), []int{3, 4, 101}, s.fetch)
			wantMany(t, got, err, 3, 4)
		})
		synctest.Wait()
		if st := c.Stats().Loads; st.Waiters != 5 || st.Running != 3 {
			t.Errorf("%d waiters of %d loads, want 5 of 3", st.Waiters, st.Running)
		}
		others.Wait()
		if want := map[int]int{1: 1, 2: 1, 3: 1, 4: 1, 100: 2, 101: 1}; !maps.Equal(s.fetched, want) {
			t.Errorf("fetched %v, want %v", s.fetched, want)
		}
		cache.WantWhole(t, c)
	})
}

// TestTakeManyAndChanges checks that a change of one key during the fetch keeps only that
// value from being stored.
func TestTakeManyAndChanges(t *testing.T) {
	for name, change := range map[string]func(c *cache.Cache[int, int]){
		"Set": func(c *cache.Cache[int, int]) { c.Set(1, 11) },
		"Del": func(c *cache.Cache[int, int]) { c.Del(1) },
		"Compute": func(c *cache.Cache[int, int]) {
			c.Compute(1, func(int, bool) (int, cache.Op) { return 11, cache.OpSet })
		},
		"DelFunc": func(c *cache.Cache[int, int]) {
			c.DelFunc(func(key, value int) bool {
				if value != 10*key {
					t.Errorf("DelFunc is asked about %d, %d", key, value)
				}
				return key == 1
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s source
				c := cache.Must(cache.Options[int, int]{})
				go func() {
					got, err := c.TakeMany(t.Context(), []int{1, 2, 100}, s.fetch)
					wantMany(t, got, err, 1, 2)
				}()
				synctest.Wait()
				change(c)
				v, stored := c.Peek(1)
				time.Sleep(2 * time.Second)
				if now, ok := c.Peek(1); now != v || ok != stored {
					t.Errorf("%d, %v became %d, %v", v, stored, now, ok)
				}
				if v, ok := c.Peek(2); v != 20 || !ok {
					t.Errorf("the other key has %d, %v", v, ok)
				}
				cache.WantWhole(t, c)
			})
		})
	}
}

// leftLoad begins a load of key 1 that takes d and that its only caller has left.
func leftLoad(t *testing.T, c *cache.Cache[int, int], d time.Duration) {
	request, leave := context.WithCancel(t.Context())
	go c.TakeCtx(request, 1, func(context.Context) (int, error) { time.Sleep(d); return 0, errors.New("for nobody") })
	synctest.Wait()
	leave()
	synctest.Wait()
}

// TestTakeManyGoesOnAfterAnError checks that a key whose load all callers have left is loaded
// again when that has ended, after the fetch of the other keys, also if that has failed.
func TestTakeManyGoesOnAfterAnError(t *testing.T) {
	for _, failed := range []error{nil, errors.New("failed")} {
		synctest.Test(t, func(t *testing.T) {
			c := cache.Must(cache.Options[int, int]{})
			began, fetched := time.Now(), map[int]time.Duration{}
			leftLoad(t, c, 10*time.Second)
			got, err := c.TakeMany(t.Context(), []int{1, 2}, func(_ context.Context, keys []int) (map[int]int, error) {
				fetched[keys[0]] = time.Since(began)
				if keys[0] == 2 {
					return map[int]int{2: 20}, failed
				}
				return map[int]int{1: 10}, nil
			})
			want := map[int]int{1: 10, 2: 20}
			if failed != nil {
				delete(want, 2)
			}
			if err != failed || !maps.Equal(got, want) || !maps.Equal(maps.Collect(c.All()), want) {
				t.Errorf("TakeMany = %v, %v; want %v, %v", got, err, want, failed)
			}
			if want := map[int]time.Duration{2: 0, 1: 10 * time.Second}; !maps.Equal(fetched, want) {
				t.Errorf("fetches of each key at %v, want %v", fetched, want)
			}
		})
	}
}

// TestTakeManyFails checks that an error of fetch is that of all its keys, also for
// callers that joined; nothing is kept, and no key counts as absent.
func TestTakeManyFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := source{fails: errors.New("failed")}
		c := cache.Must(cache.Options[int, int]{Negative: func(error) time.Duration { t.Error("Negative is asked"); return time.Hour }})
		c.Set(1, 10)
		for _, missing := range [][]int{{2, 3}, {2}} {
			go func() {
				time.Sleep(time.Millisecond)
				if _, err := c.Take(2, func() (int, error) { t.Error("fetched"); return 0, nil }); err != s.fails {
					t.Errorf("who joined gets %v", err)
				}
			}()
			got, err := c.TakeMany(t.Context(), append(missing, 1), s.fetch)
			if err != s.fails || !maps.Equal(got, map[int]int{1: 10}) || c.Len() != 1 {
				t.Errorf("TakeMany = %v, %v; %d are stored", got, err, c.Len())
			}
		}
		synctest.Wait()
		if st := c.Stats().Loads; st.Failed.Count() != 2 || st.OK.Count() != 0 {
			t.Errorf("%d loads failed", st.Failed.Count())
		}
		s.fails = nil
		got, err := c.TakeMany(t.Context(), []int{1, 2, 3}, s.fetch)
		wantMany(t, got, err, 1, 2, 3)
	})
}

// TestTakeManyJoinsFailures checks that a key with a kept error has no value and causes no error,
// whether it was kept before or by a load that TakeMany waits for; and that all other values are
// returned when the load of another caller fails.
func TestTakeManyJoinsFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s source
		failed := errors.New("failed")
		c := cache.Must(cache.Options[int, int]{Negative: forASecond})
		c.Take(1, func() (int, error) { return 0, errNotFound })
		for key, err := range map[int]error{2: errNotFound, 4: failed, 5: nil} {
			go c.Take(key, func() (int, error) {
				time.Sleep(time.Duration(6-key) * time.Second / 5)
				return 10 * key, err
			})
		}
		synctest.Wait()
		got, err := c.TakeMany(t.Context(), []int{1, 2, 3, 4, 5}, s.fetch)
		if err != failed {
			t.Errorf("TakeMany = %v, %v", got, err)
		}
		wantMany(t, got, nil, 3, 5)
		wantCalls(t, &s, []int{3})
	})
}

// TestTakeManyLeaves checks that the caller leaves when its context ends, also the loads
// that it had joined, and that the fetch goes on while a caller waits for one of its keys.
func TestTakeManyLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.Must(cache.Options[int, int]{})
		cause := errors.New("why")
		var mu sync.Mutex
		ended := map[string]time.Duration{}
		began := time.Now()
		wait := func(ctx context.Context, name string) error {
			<-ctx.Done()
			mu.Lock()
			defer mu.Unlock()
			ended[name] = time.Since(began)
			return context.Cause(ctx)
		}
		within := func(d time.Duration) context.Context {
			ctx, cancel := context.WithTimeoutCause(t.Context(), d, cause)
			t.Cleanup(cancel)
			return ctx
		}
		go c.TakeCtx(within(time.Second), 1, func(ctx context.Context) (int, error) { return 0, wait(ctx, "joined") })
		synctest.Wait()
		go func() {
			got, err := c.TakeMany(within(2*time.Second), []int{1, 2, 3, 4}, func(ctx context.Context, _ []int) (map[int]int, error) {
				return nil, wait(ctx, "batch")
			})
			if took := time.Since(began); len(got) != 0 || err != cause || took != 2*time.Second {
				t.Errorf("TakeMany = %v, %v after %v", got, err, took)
			}
		}()
		synctest.Wait()
		if _, err := c.TakeCtx(within(3*time.Second), 3, func(context.Context) (int, error) { return 0, nil }); err != cause {
			t.Errorf("TakeCtx = %v", err)
		}
		synctest.Wait()
		if want := map[string]time.Duration{"joined": 2 * time.Second, "batch": 3 * time.Second}; !maps.Equal(ended, want) {
			t.Errorf("ended %v, want %v", ended, want)
		}
		if _, err := c.TakeMany(within(0), []int{1}, noFetchMany); err != cause {
			t.Errorf("%v: a context that has ended begins a fetch", err)
		}
		cache.WantWhole(t, c)
	})
}

func noFetchMany(context.Context, []int) (map[int]int, error) { panic("fetched") }

// TestTakeManyTimeout checks that at the Timeout callers leave with the values found so
// far, and that later results of fetch are stored.
func TestTakeManyTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.Must(cache.Options[int, int]{Timeout: time.Second})
		c.Set(1, 10)
		began := time.Now()
		got, err := c.TakeMany(context.Background(), []int{1, 2, 3}, func(ctx context.Context, _ []int) (map[int]int, error) {
			<-ctx.Done()
			time.Sleep(time.Minute)
			return map[int]int{2: 20, 3: 30}, nil
		})
		if took := time.Since(began); !errors.Is(err, cache.ErrTimeout) || !maps.Equal(got, map[int]int{1: 10}) || took != time.Second {
			t.Errorf("TakeMany = %v, %v after %v", got, err, took)
		}
		if _, err := c.TakeMany(t.Context(), []int{2, 3}, noFetchMany); !errors.Is(err, cache.ErrTimeout) {
			t.Errorf("%v: the keys are taken", err)
		}
		time.Sleep(time.Hour)
		got, err = c.TakeMany(t.Context(), []int{1, 2, 3}, noFetchMany)
		wantMany(t, got, err, 1, 2, 3)
	})
}

// TestTakeManyPermits checks that one fetch takes one permit and gives it back before it
// waits for others, and that a TakeMany within a fetch shares the permit of that.
func TestTakeManyPermits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s source
		var calls sync.WaitGroup
		c := cache.Must(cache.Options[int, int]{MaxLoads: 1})
		began := time.Now()
		calls.Go(func() {
			got, err := c.TakeMany(t.Context(), []int{1, 2, 3}, func(ctx context.Context, keys []int) (map[int]int, error) {
				time.Sleep(time.Second)
				got, err := c.TakeMany(ctx, []int{4, 5, 6}, s.fetch) // 4 and 5 wait for the permit
				wantMany(t, got, err, 4, 5, 6)
				return s.fetch(ctx, keys)
			})
			wantMany(t, got, err, 1, 2, 3)
		})
		synctest.Wait()
		calls.Go(func() {
			got, err := c.TakeMany(t.Context(), []int{4, 5, 1}, s.fetch)
			wantMany(t, got, err, 1, 4, 5)
		})
		calls.Wait()
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("it took %v", took)
		}
		if got, err := c.TakeMany(t.Context(), []int{7, 8}, s.fetch); err != nil || len(got) != 2 {
			t.Errorf("TakeMany = %v, %v: is the permit free again?", got, err)
		}
	})
}

// TestTakeManyAndCallbacks checks that a callback that waits for one of the keys gets it,
// although the call waits for callbacks.
func TestTakeManyAndCallbacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c *cache.Cache[int, int]
		told := 0
		c = cache.Must(cache.Options[int, int]{Limit: 1, Workers: 1, OnRemove: func(e cache.Event[int, int]) {
			told++
			if e.Key == 0 {
				_, err := c.Take(1, func() (int, error) { return 10, nil })
				if err != nil {
					t.Error(err)
				}
			}
		}})
		keys := make([]int, 2*cache.Backlog)
		for i := range keys {
			keys[i] = i + 1
		}
		c.Set(0, 0)
		got, err := c.TakeMany(t.Context(), keys, func(_ context.Context, keys []int) (map[int]int, error) {
			c.Del(0)
			synctest.Wait() // the callback waits for 1
			values := map[int]int{}
			for _, key := range keys {
				values[key] = 10 * key
			}
			return values, nil
		})
		if len(got) != len(keys) || err != nil {
			t.Errorf("%d values, %v", len(got), err)
		}
		if err := c.Close(t.Context()); err != nil || told < len(keys) {
			t.Errorf("%v, and %d events", err, told)
		}
	})
}
