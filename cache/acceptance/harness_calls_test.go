package acceptance

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// ErrFetch is what FailFetch returns.
var ErrFetch = errors.New("fetch failed")

// FailFetch is a fetch that fails.
func FailFetch() (int, error) { return 0, ErrFetch }

// ErrLeft is why a caller does not wait any longer.
var ErrLeft = errors.New("left")

// NoFetch is for callers that must join the fetch of another.
func NoFetch(t *testing.T) func(context.Context) (int, error) {
	return func(context.Context) (int, error) {
		t.Error("a second fetch ran")
		return 0, nil
	}
}

// Gated returns a fetch that waits for the gate and then returns value.
func Gated(gate <-chan struct{}, value int) func() (int, error) {
	return func() (int, error) { <-gate; return value, nil }
}

// Bubble runs f as a subtest in a synctest bubble: time is fake, and the end of
// the bubble fails the test if f left a goroutine behind.
func Bubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

// BubbleCheck runs a rapid property as a subtest. The property draws outside the
// bubble and runs its operations in rapid.SyncTest.
func BubbleCheck(t *testing.T, name string, property func(*rapid.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { rapid.Check(t, property) })
}

// Together runs f on n goroutines and waits for all of them.
func Together(n int, f func(g int)) {
	var wg sync.WaitGroup
	for g := range n {
		wg.Go(func() { f(g) })
	}
	wg.Wait()
}

// Meanwhile calls f again and again on a goroutine of its own, until the function that it returns
// is called or the test has failed.
func Meanwhile(t *testing.T, f func()) (stop func()) {
	var stopped atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !stopped.Load() && !t.Failed() {
			f()
			runtime.Gosched()
		}
	})
	return func() { stopped.Store(true); wg.Wait() }
}

// Recovered runs f and returns the value of its panic, nil if there was none.
func Recovered(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

// loading is a function of the user for one key.
type loading = func(context.Context) (int, error)

// taking is a call of a Take.
type taking = func(ctx context.Context, c *cache.Cache[string, int], key string, fetch loading) (int, error)

// takes are the Takes, by name.
var takes = map[string]taking{
	"Take": func(_ context.Context, c *cache.Cache[string, int], key string, fetch loading) (int, error) {
		return c.Take(key, func() (int, error) { return fetch(context.Background()) })
	},
	"TakeCtx": func(ctx context.Context, c *cache.Cache[string, int], key string, fetch loading) (int, error) {
		return c.TakeCtx(ctx, key, fetch)
	},
	"TakeWith": func(ctx context.Context, c *cache.Cache[string, int], key string, fetch loading) (int, error) {
		return c.TakeWith(ctx, key, func(ctx context.Context, _ *cache.Load[int]) (int, error) { return fetch(ctx) })
	},
	"TakeEntry": func(ctx context.Context, c *cache.Cache[string, int], key string, fetch loading) (int, error) {
		e, err := c.TakeEntry(ctx, key, cache.Terms{}, func(ctx context.Context, _ *cache.Load[int]) (int, error) { return fetch(ctx) })
		return e.Value, err
	},
	"TakeMany": func(ctx context.Context, c *cache.Cache[string, int], key string, fetch loading) (int, error) {
		found, err := c.TakeMany(ctx, []string{key}, func(ctx context.Context, missing []string) (map[string]int, error) {
			v, err := fetch(ctx)
			return map[string]int{missing[0]: v}, err
		})
		return found[key], err
	},
	"Fetch": func(ctx context.Context, c *cache.Cache[string, int], key string, fetch func(context.Context) (int, error)) (int, error) {
		return c.Fetch(context.WithValue(ctx, fetchOf, fetch), key)
	},
	"FetchMany": func(ctx context.Context, c *cache.Cache[string, int], key string, fetch func(context.Context) (int, error)) (int, error) {
		found, err := c.FetchMany(context.WithValue(ctx, fetchOf, fetch), []string{key})
		return found[key], err
	},
}

// fetchOf is the key by which a context has the function of loadOfContext.
var fetchOf = new(byte)

// loadsOne is a context whose function returns 1.
var loadsOne = context.WithValue(context.Background(), fetchOf, func(context.Context) (int, error) { return 1, nil })

// loadOfContext is the option Load of all caches of New: the function that the context has.
func loadOfContext[K comparable, V any](ctx context.Context, key K, _ *cache.Load[V]) (v V, err error) {
	if fetch, ok := ctx.Value(fetchOf).(func(context.Context) (V, error)); ok {
		return fetch(ctx)
	}
	return v, errors.New("nothing to load")
}

// A Taker is one of the ways to have a value loaded, in a goroutine of the load or not.
type Taker struct {
	Name string
	Take func(c *cache.Cache[string, int], key string, fetch func() (int, error)) (int, error)
}

// Takers returns all of them.
func Takers() (all []Taker) {
	for name, take := range takes {
		for how, end := range map[string]bool{"": false, " cancellable": true} {
			all = append(all, Taker{name + how, func(c *cache.Cache[string, int], key string, fetch func() (int, error)) (int, error) {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				if !end {
					ctx = context.Background()
				}
				return take(ctx, c, key, func(context.Context) (int, error) { return fetch() })
			}})
		}
	}
	return all
}

// An Outcome is how a call on a goroutine of its own ended.
type Outcome struct {
	Value    int
	Err      error
	Panicked any
	Goexit   bool
	Done     chan struct{}
}

// Start runs f on a new goroutine and, in a bubble, waits until it has ended or
// is blocked.
func Start(f func() (int, error)) *Outcome {
	o := &Outcome{Done: make(chan struct{}), Goexit: true}
	go func() {
		defer close(o.Done)
		defer func() {
			if r := recover(); r != nil {
				o.Panicked, o.Goexit = r, false
			}
		}()
		o.Value, o.Err = f()
		o.Goexit = false
	}()
	synctest.Wait()
	return o
}

// Running reports whether the call has not ended.
func (o *Outcome) Running() bool {
	select {
	case <-o.Done:
		return false
	default:
		return true
	}
}

// Want waits for the call and fails unless it returned value and err.
func (o *Outcome) Want(t rapid.TB, value int, err error) {
	t.Helper()
	<-o.Done
	if o.Panicked != nil || o.Goexit {
		t.Fatalf("the call panicked with %v or ended its goroutine (%t); want it to return", o.Panicked, o.Goexit)
	}
	if o.Value != value || o.Err != err {
		t.Fatalf("the call returned %d, %v; want %d, %v", o.Value, o.Err, value, err)
	}
}

// unboundedBacklog is a number of removals after which a bounded cache must have made their
// caller wait.
const unboundedBacklog = 1 << 21

// A Backlog is a goroutine that removes until the cache makes it wait.
type Backlog struct {
	Removals atomic.Int64 // completed
	Done     chan struct{}
	stop     atomic.Bool // after the removal under way
}

// RemoveUntilBlocked calls remove with 0, 1, 2, ... on a goroutine of its own until
// a call does not return, and fails the test if that never happens. All callbacks
// of the cache must be blocked.
func RemoveUntilBlocked(t *testing.T, remove func(i int)) *Backlog {
	t.Helper()
	b := &Backlog{Done: make(chan struct{})}
	go func() {
		defer close(b.Done)
		for i := 0; i < unboundedBacklog && !b.stop.Load(); i++ {
			remove(i)
			b.Removals.Add(1)
		}
	}()
	synctest.Wait()
	b.stop.Store(true)
	if b.Removals.Load() == unboundedBacklog {
		t.Errorf("%d removals behind blocked callbacks, and nobody waited", unboundedBacklog)
	}
	return b
}
