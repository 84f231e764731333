package cache_test

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// TestLastCallerLeaves checks that the context of a fetch ends once, with an error, when its
// last caller leaves for another reason than the end of its own context.
func TestLastCallerLeaves(t *testing.T) {
	for name, leave := range map[string]func(t *testing.T, c *cache.Cache[int, int], fetch func(context.Context) (int, error)){
		"out of patience": func(t *testing.T, c *cache.Cache[int, int], fetch func(context.Context) (int, error)) {
			c.Set(1, 7)
			time.Sleep(2 * time.Second)
			request, cancel := context.WithTimeout(t.Context(), time.Second) // fake time
			defer cancel()
			go func() {
				_, _ = c.TakeMany(request, []int{1}, func(ctx context.Context, _ []int) (map[int]int, error) {
					_, err := fetch(ctx)
					return nil, err
				})
			}()
			synctest.Wait()
			if v, err := c.TakeCtx(t.Context(), 1, fetch); v != 7 || err != nil {
				t.Errorf("TakeCtx = %d, %v; want the value in Grace", v, err)
			}
		},
		"panic":  leaveByFetch(func() { panic("on purpose") }),
		"Goexit": leaveByFetch(runtime.Goexit),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := cache.Must(cache.Options[int, int]{Expire: time.Second, Grace: time.Hour, Patience: 2 * time.Second})
				ends := 0
				leave(t, c, func(ctx context.Context) (int, error) {
					<-ctx.Done()
					ends++
					if err := ctx.Err(); err != context.Canceled || context.Cause(ctx) == nil {
						t.Errorf("the context of the fetch ended with %v, %v", err, context.Cause(ctx))
					}
					return 0, ctx.Err()
				})
				synctest.Wait()
				if ends != 1 {
					t.Errorf("%d contexts ended, want that of the fetch", ends)
				}
				cache.MustClose(t, c)
			})
		})
	}
}

// leaveByFetch lets a TakeMany join a load, whose other caller leaves, and then end with fail.
func leaveByFetch(fail func()) func(*testing.T, *cache.Cache[int, int], func(context.Context) (int, error)) {
	return func(t *testing.T, c *cache.Cache[int, int], fetch func(context.Context) (int, error)) {
		request, cancel := context.WithCancel(t.Context())
		go func() { _, _ = c.TakeCtx(request, 1, fetch) }()
		synctest.Wait()
		var many sync.WaitGroup
		many.Go(func() {
			defer func() { _ = recover() }()
			_, _ = c.TakeMany(t.Context(), []int{1, 2}, func(context.Context, []int) (map[int]int, error) {
				cancel()
				time.Sleep(time.Second)
				fail()
				return nil, nil
			})
		})
		many.Wait()
	}
}

// A nosy context calls look in each of its methods.
type nosy struct {
	context.Context
	look func()
}

func (n nosy) Deadline() (time.Time, bool) { n.look(); return n.Context.Deadline() }
func (n nosy) Done() <-chan struct{}       { n.look(); return n.Context.Done() }
func (n nosy) Err() error                  { n.look(); return n.Context.Err() }
func (n nosy) Value(key any) any           { n.look(); return n.Context.Value(key) }

// TestContextsAreAskedWithoutALock checks that no method of a caller's context is called
// while the shard of the key, or the context of the fetch, is locked.
func TestContextsAreAskedWithoutALock(t *testing.T) {
	for name, o := range map[string]cache.Options[int, int]{
		"plain":    {},
		"Timeout":  {Timeout: time.Hour},
		"MaxLoads": {MaxLoads: 1},
		"Refresh":  {Expire: time.Hour, Refresh: 1e-9},
		"Grace":    {Expire: time.Millisecond, Grace: time.Hour},
		"Patience": {Expire: time.Millisecond, Grace: time.Hour, Patience: 5 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			o.Limit = 100 // one shard
			c := cache.Must(o)
			var fetching atomic.Pointer[context.Context]
			var locked atomic.Bool
			look := func() {
				if locked.Load() {
					return
				}
				free := make(chan struct{})
				go func() {
					c.Set(100, 0)
					if ctx := fetching.Load(); ctx != nil {
						_ = (*ctx).Err()
					}
					close(free)
				}()
				select {
				case <-free:
				case <-time.After(time.Minute):
					locked.Store(true)
					buf := make([]byte, 1<<16)
					t.Errorf("called under a lock:\n%s", buf[:runtime.Stack(buf, false)])
				}
			}
			request := func(d time.Duration) context.Context {
				ctx, cancel := context.WithTimeout(t.Context(), d)
				t.Cleanup(cancel)
				return nosy{ctx, look}
			}
			release := make(chan struct{})
			fetch := func(ctx context.Context) (int, error) {
				fetching.Store(&ctx)
				_, _ = ctx.Deadline()
				_ = ctx.Value("nothing")
				select {
				case <-ctx.Done():
					_ = context.Cause(ctx)
				case <-release:
				}
				return 1, nil
			}
			many := func(ctx context.Context, keys []int) (map[int]int, error) {
				_, err := fetch(ctx)
				return map[int]int{1: 1}, err
			}
			c.Set(1, 1)
			time.Sleep(10 * time.Millisecond)
			var calls sync.WaitGroup
			for _, d := range []time.Duration{time.Hour, 20 * time.Millisecond} {
				for key := range 3 {
					calls.Go(func() { _, _ = c.TakeCtx(request(d), key, fetch) })
					calls.Go(func() { _, _ = c.TakeMany(request(d), []int{key, key + 1, key + 10}, many) })
				}
			}
			time.Sleep(50 * time.Millisecond)
			close(release)
			calls.Wait()
		})
	}
}

// TestFetchTakesItsOwnKey checks that a fetch which takes its own key, with its context or
// one derived from it, gets an error instead of waiting for itself.
func TestFetchTakesItsOwnKey(t *testing.T) {
	type takes = func(c *cache.Cache[int, int], ctx context.Context) error
	single := func(key int) takes {
		return func(c *cache.Cache[int, int], ctx context.Context) error {
			_, err := c.TakeCtx(ctx, key, func(context.Context) (int, error) { return 5, nil })
			return err
		}
	}
	for name, take := range map[string]takes{
		"own context": single(1),
		"derived": func(c *cache.Cache[int, int], ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, time.Hour)
			defer cancel()
			return single(1)(c, ctx)
		},
		"without end": func(c *cache.Cache[int, int], ctx context.Context) error {
			return single(1)(c, context.WithoutCancel(ctx))
		},
		"TakeMany": func(c *cache.Cache[int, int], ctx context.Context) error {
			got, err := c.TakeMany(ctx, []int{1, 2}, func(_ context.Context, keys []int) (map[int]int, error) {
				return map[int]int{2: 20}, nil
			})
			if got[2] != 20 {
				t.Errorf("TakeMany = %v: the other key is missing", got)
			}
			return err
		},
		"in another fetch": func(c *cache.Cache[int, int], ctx context.Context) error {
			_, err := c.TakeCtx(ctx, 3, func(ctx context.Context) (int, error) { return 0, single(1)(c, ctx) })
			return err
		},
	} {
		for how, lead := range map[string]func(c *cache.Cache[int, int], fetch func(context.Context) (int, error)) (int, error){
			"TakeCtx": func(c *cache.Cache[int, int], fetch func(context.Context) (int, error)) (int, error) {
				return c.TakeCtx(t.Context(), 1, fetch)
			},
			"inline": func(c *cache.Cache[int, int], fetch func(context.Context) (int, error)) (int, error) {
				return c.TakeCtx(context.Background(), 1, fetch)
			},
			"batch": func(c *cache.Cache[int, int], fetch func(context.Context) (int, error)) (int, error) {
				got, err := c.TakeMany(t.Context(), []int{4, 1}, func(ctx context.Context, _ []int) (map[int]int, error) {
					v, err := fetch(ctx)
					return map[int]int{1: v}, err
				})
				return got[1], err
			},
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				c := cache.Must(cache.Options[int, int]{Limit: 100, MaxLoads: 1})
				done := make(chan struct{})
				go func() {
					defer close(done)
					v, err := lead(c, func(ctx context.Context) (int, error) {
						if err := take(c, ctx); err == nil || !strings.Contains(err.Error(), "wait for itself") {
							t.Errorf("the fetch got %v for its own key", err)
						}
						return 10, nil
					})
					if v != 10 || err != nil {
						t.Errorf("Take = %d, %v", v, err)
					}
					c.Set(1, 2) // the shard is free
				}()
				select {
				case <-done:
				case <-time.After(time.Minute):
					t.Fatal("the fetch waits for itself")
				}
			})
		}
	}
}

// TestFetchThatHasEndedIsNoOwner checks that a goroutine which a fetch has left behind may
// take the key with the context of the fetch.
func TestFetchThatHasEndedIsNoOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var left sync.WaitGroup
		var c *cache.Cache[int, int]
		var fetching context.Context
		c = cache.Must(cache.Options[int, int]{Weigh: func(key, value int) uint32 { // when the fetch has ended
			if value == 1 {
				left.Go(func() {
					if v, err := c.TakeCtx(context.WithoutCancel(fetching), 1, nil2); v != 1 || err != nil {
						t.Errorf("TakeCtx = %d, %v", v, err)
					}
				})
				time.Sleep(time.Second)
			}
			return 1
		}, MaxWeight: 10})
		_, _ = c.TakeCtx(t.Context(), 1, func(ctx context.Context) (int, error) { fetching = ctx; return 1, nil })
		left.Wait()
	})
}

func nil2(context.Context) (int, error) { return 2, nil }

// TestNilContexts checks that a nil context, or function, panics with a text that says so, in each method
// that takes one, also if the key has a value, and leaves nothing locked or marked behind.
func TestNilContexts(t *testing.T) {
	methods := reflect.TypeFor[*cache.Cache[int, int]]()
	for i := range 2 * methods.NumMethod() {
		m, noContext := methods.Method(i/2), i%2 == 0 // or no function
		c := cache.Must(cache.Options[int, int]{Limit: 10, Expire: time.Hour, Refresh: 1e-9})
		args, want := []reflect.Value{reflect.ValueOf(c)}, ""
		for j := 1; j < m.Type.NumIn(); j++ {
			arg := reflect.Zero(m.Type.In(j))
			switch of := m.Type.In(j); {
			case of == reflect.TypeFor[context.Context]() && noContext:
				want = "context of " + m.Name + " is nil: want context.Background()"
			case of == reflect.TypeFor[context.Context]():
				arg = reflect.ValueOf(t.Context())
			case of.Kind() == reflect.Func && noContext:
				arg = reflect.MakeFunc(of, func([]reflect.Value) []reflect.Value { panic("called") })
			case of.Kind() == reflect.Func && m.Name != "TakeEntry" && m.Name != "Tune": // without one they load by the options, and read
				want = " is nil: want a function"
			case of == reflect.TypeFor[[]int]():
				arg = reflect.ValueOf([]int{0})
			}
			args = append(args, arg)
		}
		if want == "" {
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			c.Set(0, 0)
			time.Sleep(time.Millisecond) // now it is due
			func() {
				defer func() {
					if text, _ := recover().(string); !strings.HasPrefix(text, "cache: ") || !strings.Contains(text, want) {
						t.Errorf("the panic is %q, want %q", text, want)
					}
				}()
				if m.Type.IsVariadic() {
					m.Func.CallSlice(args)
				} else {
					m.Func.Call(args)
				}
			}()
			cache.WantWhole(t, c)
			renewed := make(chan struct{})
			if _, err := c.TakeCtx(t.Context(), 0, func(context.Context) (int, error) { close(renewed); return 3, nil }); err != nil || cache.For(c).Closed() {
				t.Errorf("TakeCtx returns %v, closed %v", err, cache.For(c).Closed())
			}
			<-renewed
			cache.MustClose(t, c)
		})
	}
}

// TestTimeoutIsForAllWaits checks that a caller which follows one TakeMany after another, each
// of which leaves its key out, waits no longer than Timeout in all. If it leads a load in the
// end, that has no caller then.
func TestTimeoutIsForAllWaits(t *testing.T) {
	for name, others := range map[string]time.Duration{"follows": 5 * time.Second, "leads": 1} {
		synctest.Test(t, func(t *testing.T) {
			c := cache.Must(cache.Options[int, int]{Timeout: time.Second})
			began := time.Now()
			// A caller asks for the error before it looks for a load.
			ctx := cache.ErrHook{t.Context(), func() {
				if time.Since(began) >= others {
					return
				}
				go func() {
					_, _ = c.TakeMany(t.Context(), []int{1}, func(context.Context, []int) (map[int]int, error) {
						time.Sleep(600 * time.Millisecond)
						return nil, nil
					})
				}()
				synctest.Wait()
			}}
			_, err := c.TakeCtx(ctx, 1, func(ctx context.Context) (int, error) {
				<-ctx.Done()
				if took := time.Since(began); took != time.Second || !errors.Is(context.Cause(ctx), cache.ErrTimeout) {
					t.Errorf("%s: the fetch ended after %v with %v", name, took, context.Cause(ctx))
				}
				return 0, ctx.Err()
			})
			if took := time.Since(began); !errors.Is(err, cache.ErrTimeout) || took != time.Second {
				t.Errorf("%s: TakeCtx returned %v after %v, want ErrTimeout after 1s", name, err, took)
			}
			time.Sleep(time.Minute)
		})
	}
}

// TestWhoLeftAtTheTimeoutDoesNotWait checks that a result whose only caller has left at the
// Timeout is not stored if its entry was evicted meanwhile.
func TestWhoLeftAtTheTimeoutDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.Must(cache.Options[int, int]{Limit: 1, Expire: time.Minute, Grace: time.Hour, Patience: time.Second, Timeout: 2 * time.Second})
		c.Set(1, 1)
		time.Sleep(2 * time.Minute)
		got, err := c.TakeMany(t.Context(), []int{1}, func(context.Context, []int) (map[int]int, error) {
			time.Sleep(10 * time.Second)
			return map[int]int{1: 2}, nil
		})
		if got[1] != 1 || err != nil {
			t.Errorf("TakeMany = %v, %v", got, err)
		}
		c.Set(2, 2) // evicts the other key
		time.Sleep(10 * time.Second)
		if _, ok := c.Peek(2); !ok {
			t.Error("a result that nobody waits for has evicted a value")
		}
	})
}

// TestFetchesOfEachOther is what the documentation cannot prevent: two fetches that wait for
// each other's keys. With Timeout both end.
func TestFetchesOfEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.Must(cache.Options[int, int]{Timeout: time.Second})
		take := func(key, other int) func() {
			return func() {
				_, err := c.TakeCtx(t.Context(), key, func(ctx context.Context) (int, error) {
					time.Sleep(time.Millisecond)
					return c.TakeCtx(ctx, other, nil2)
				})
				if !errors.Is(err, cache.ErrTimeout) {
					t.Errorf("TakeCtx returned %v", err)
				}
			}
		}
		began := time.Now()
		var calls sync.WaitGroup
		calls.Go(take(1, 2))
		calls.Go(take(2, 1))
		calls.Wait()
		if took := time.Since(began); took != time.Second {
			t.Errorf("they took %v", took)
		}
		synctest.Wait()
	})
}
