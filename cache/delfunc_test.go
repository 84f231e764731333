package cache_test

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// TestDelFuncAndLoads checks that a load under way is asked about when it ends: the value
// of a key that DelFunc selects is not stored. (FusionCache has this open: a tag is
// removed while an entry with it is being loaded.)
func TestDelFuncAndLoads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.Must(cache.Options[string, string]{})
		var loads sync.WaitGroup
		load := func(key, value string) {
			loads.Go(func() {
				if v, err := c.Take(key, func() (string, error) { time.Sleep(time.Second); return value, nil }); v != value || err != nil {
					t.Errorf("Take(%q) = %q, %v", key, v, err)
				}
			})
		}
		c.SetShards(16)
		for n := range 16 {
			load(fmt.Sprint("user 1.", n), "tenant 7")
		}
		load("user 2", "tenant 8")
		synctest.Wait()
		if n := c.DelFunc(func(_, v string) bool { return v == "tenant 7" }); n != 0 {
			t.Errorf("%d were removed", n)
		}
		load("user 3", "tenant 7") // begins afterwards
		loads.Wait()
		if keys := slices.Sorted(maps.Keys(maps.Collect(c.All()))); !slices.Equal(keys, []string{"user 2", "user 3"}) {
			t.Errorf("%q are left", keys)
		}
		cache.WantWhole(t, c)
	})
}

// TestDelFuncThatCallsGoexit checks that the Goexit, or a panic, of a function that is asked about a load
// ends neither the load nor its caller; the value is not stored. A function that panicked in DelFunc itself
// is not asked again.
func TestDelFuncThatCallsGoexit(t *testing.T) {
	for name, end := range map[string]func(){
		"oops":                  func() { panic("oops") },
		cache.ErrGoexit.Error(): runtime.Goexit,
	} {
		synctest.Test(t, func(t *testing.T) {
			var told []any
			c := cache.Must(cache.Options[string, int]{OnPanic: func(cause any, _ []byte) {
				told = append(told, cause)
				panic("OnPanic panics too")
			}})
			var calls sync.WaitGroup
			load := func(key string, ctx context.Context) {
				calls.Go(func() {
					v, err := c.TakeCtx(ctx, key, func(context.Context) (int, error) { time.Sleep(time.Second); return 1, nil })
					if v != 1 || err != nil {
						t.Errorf("%s, %s: %d, %v", name, key, v, err)
					}
				})
				synctest.Wait()
			}
			load("inline", context.Background())
			load("in a goroutine", t.Context())
			for range 2 {
				c.DelFunc(func(string, int) bool { end(); return false })
			}
			calls.Wait()
			if c.Len() != 0 || fmt.Sprint(told) != fmt.Sprint([]string{name, name}) {
				t.Errorf("%d stored, and OnPanic was told %v", c.Len(), told)
			}

			c.Set("asked", 1)
			load("later", t.Context())
			func() {
				defer func() {
					if recover() == nil {
						t.Error("no panic")
					}
				}()
				c.DelFunc(func(string, int) bool { panic("oops") })
			}()
			calls.Wait()
			if c.Len() != 2 || len(told) != 2 {
				t.Errorf("a function that has panicked was asked again: %d entries, told %v", c.Len(), told)
			}
			cache.WantWhole(t, c)
			cache.MustClose(t, c)
		})
	}
}

// TestDelFuncThatCallsItself checks that a load ends although the function that it asks has
// it asked again each time.
func TestDelFuncThatCallsItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.Must(cache.Options[int, int]{})
		go c.Take(1, func() (int, error) { time.Sleep(time.Second); return 1, nil })
		synctest.Wait()
		var again func(int, int) bool
		again = func(int, int) bool { c.DelFunc(again); return false }
		c.DelFunc(again)
		time.Sleep(time.Second)
		synctest.Wait()
		if n := c.Stats().Loads.Running; n != 0 {
			t.Errorf("%d loads run", n)
		}
	})
}

// TestTakeAfterDelFunc: who comes when DelFunc has returned loads anew, whether or not it would pick
// the value of a load from before, which may hang; and gets no error that was kept before, or is found
// by such a load.
func TestTakeAfterDelFunc(t *testing.T) {
	for name, take := range takers[int, int]() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, pick := range []int{7, 9} { // the value of before, and another one
					c := cache.Must(cache.Options[int, int]{Negative: forASecond})
					go take(t.Context(), c, 1, func(context.Context) (int, error) { time.Sleep(time.Second); return 7, nil })
					synctest.Wait()
					c.DelFunc(func(_, v int) bool { return v == pick })
					began := time.Now()
					if v, err := take(t.Context(), c, 1, func(context.Context) (int, error) { return 8, nil }); v != 8 || err != nil || time.Since(began) > 0 {
						t.Errorf("DelFunc picks %d: %d, %v after %v", pick, v, err, time.Since(began))
					}
					time.Sleep(time.Hour)
					if v, ok := c.Peek(1); v != 8 || !ok {
						t.Errorf("DelFunc picks %d: the cache has %d, %v", pick, v, ok)
					}
					// Where DelFunc is called all the time, two loads run at most.
					c.Del(1)
					var running, most, fetched atomic.Int32
					for range 100 {
						go take(t.Context(), c, 1, func(context.Context) (int, error) {
							most.Store(max(most.Load(), running.Add(1)))
							defer running.Add(-1)
							fetched.Add(1)
							time.Sleep(time.Second)
							return 7, nil
						})
						time.Sleep(50 * time.Millisecond)
						c.DelFunc(func(k, _ int) bool { return k != 1 })
					}
					if most.Load() > 2 || fetched.Load() > 2 {
						t.Errorf("%d loads, %d at once, beside 100 calls of DelFunc", fetched.Load(), most.Load())
					}
				}
				own := cache.Must(cache.Options[int, int]{})
				var fetch func(context.Context) (int, error)
				depth := 0
				fetch = func(ctx context.Context) (int, error) {
					if depth++; depth == 10 {
						return 0, nil
					}
					own.DelFunc(func(int, int) bool { return true })
					return own.TakeCtx(ctx, 1, fetch)
				}
				if _, err := own.TakeCtx(t.Context(), 1, fetch); err == nil || depth > 1 {
					t.Errorf("a fetch that takes its own key: %v after %d", err, depth)
				}
				c := cache.Must(cache.Options[int, int]{Negative: forASecond})
				for _, during := range []bool{false, true} {
					c.Take(1, func() (int, error) {
						if during {
							c.DelFunc(func(int, int) bool { return true })
						}
						return 0, errNotFound
					})
					if !during {
						c.DelFunc(func(int, int) bool { return true })
					}
					if n := c.Stats().Negatives; n != 0 {
						t.Errorf("%d errors are kept after DelFunc; called during the load: %v", n, during)
					}
				}
			})
		})
	}
}
