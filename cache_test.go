// Package pinwheel_test holds the acceptance tests of the whole library, seen from
// outside: one TestPromiseN per promise of the contract (promiseN_*_test.go), the
// methods that no promise covers (here), a model, a ledger, and the comparison
// with go-zero's cache (gozero_test.go).
//
// All time is the fake time of testing/synctest, except in a few tests that need
// real threads or the garbage collector. Every subtest says in one line what it
// catches.
package pinwheel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/pinwheel-cache/pinwheel/cache"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goZeroGoroutines()...)
}

func TestResize(t *testing.T) {
	// Catches: Resize that leaves the surplus to later Sets, evicts the wrong end, or does not report.
	bubble(t, "down evicts the oldest at once", func(t *testing.T) {
		var rec recorder[string, int]
		c := newCache(t, cache.Options[string, int]{Limit: 5, OnRemove: rec.add})
		for i, k := range numbered("k", 5) {
			c.Set(k, i)
		}
		mustResize(t, c, 2)
		wantLen(t, c, 2)
		wantEvents(t, &rec, event("k0", 0, cache.Evicted), event("k1", 1, cache.Evicted), event("k2", 2, cache.Evicted))
		c.Set("k5", 5)
		wantEvents(t, &rec, event("k3", 3, cache.Evicted))
		wantHit(t, c, "k4", 4)
		wantHit(t, c, "k5", 5)
	})

	// Catches: Resize that rebuilds and forgets, or that does not use the new room.
	bubble(t, "up keeps and makes room", func(t *testing.T) {
		c := newCache(t, cache.Options[string, int]{Limit: 3})
		keys := numbered("k", 6)
		for i, k := range keys[:3] {
			c.Set(k, i)
		}
		mustResize(t, c, 6)
		for i, k := range keys[3:] {
			c.Set(k, i+3)
		}
		for i, k := range keys {
			wantHit(t, c, k, i)
		}
		c.Set("one more", 1)
		wantLen(t, c, 6)
	})

	// Catches: a cache of many shards whose small new limit leaves shards with room for nothing.
	for _, limit := range []int{0, 1 << 16} {
		bubble(t, fmt.Sprintf("from %d to 3", limit), func(t *testing.T) {
			c := newCache(t, cache.Options[string, int]{Limit: limit})
			fill(c, 1000)
			mustResize(t, c, 3)
			if n := c.Len(); n > 3 {
				t.Fatalf("Len = %d after Resize(3)", n)
			}
			for i, k := range numbered("new", 200) {
				c.Set(k, i)
				wantHit(t, c, k, i)
				if n := c.Len(); n > 3 {
					t.Fatalf("Len = %d after Resize(3)", n)
				}
			}
		})
	}

	// Catches: 0 taken for "room for nothing", or for the limit of before.
	bubble(t, "to none", func(t *testing.T) {
		c := newCache(t, cache.Options[string, int]{Limit: 10})
		fill(c, 20)
		mustResize(t, c, 0)
		fill(c, 10_000)
		wantLen(t, c, 10_000)
	})

	// Catches: a limit that grows past the size where shards begin, and is not honoured.
	bubble(t, "from 100 to 10000", func(t *testing.T) {
		c := newCache(t, cache.Options[string, int]{Limit: 100})
		mustResize(t, c, 10_000)
		for i := range 30_000 {
			c.Set(strconv.Itoa(i), i)
		}
		if n := c.Len(); n <= 5_000 || n > 10_000 {
			t.Errorf("Len = %d, want about and at most 10000", n)
		}
	})

	// Catches: a limit that is only checked by New.
	bubble(t, "negative is an error", func(t *testing.T) {
		c := newCache(t, cache.Options[string, int]{Limit: 2})
		c.Set("k", 1)
		if err := c.Resize(-1); err == nil {
			t.Error("Resize(-1) = nil, want an error")
		}
		wantHit(t, c, "k", 1)
	})

	// Catches: a crash, or a broken weight limit, when a cache limited by weight is resized.
	bubble(t, "a weighted cache survives it", func(t *testing.T) {
		c := newCache(t, cache.Options[string, int]{MaxWeight: 10, Weigh: func(string, int) uint32 { return 5 }})
		c.Set("a", 1)
		c.Set("b", 2)
		t.Logf("Resize(1) of a weighted cache: %v", c.Resize(1))
		c.Set("c", 3)
		wantHit(t, c, "c", 3)
		if w := c.Stats().Weight; w > 10 {
			t.Errorf("weight %d above its limit of 10", w)
		}
	})

	// Catches: Resize that is not safe beside writers.
	t.Run("beside writers", func(t *testing.T) {
		c := newCache(t, cache.Options[string, int]{Limit: 1000})
		var writers sync.WaitGroup
		for g := range 4 {
			writers.Go(func() {
				for i := range scaled(20_000) {
					c.Set(strconv.Itoa(g*7+i%3000), i)
				}
			})
		}
		for i := range scaled(1000) {
			mustResize(t, c, []int{10, 5000, 100, 1, 20_000}[i%5])
		}
		mustResize(t, c, 10)
		writers.Wait()
		if n := c.Len(); n > 10 {
			t.Errorf("Len = %d after Resize(10)", n)
		}
	})
}

func TestAll(t *testing.T) {
	// Catches: an entry left out or yielded twice, and an expired one yielded.
	bubble(t, "each entry once", func(t *testing.T) {
		c := newCache(t, cache.Options[string, int]{})
		for i, k := range numbered("k", 3000) {
			c.Set(k, i)
		}
		c.SetWithExpire("expired", 1, time.Second)
		time.Sleep(time.Second)
		seen := collect(t, c)
		for i, k := range numbered("k", 3000) {
			if v, ok := seen[k]; !ok || v != i {
				t.Fatalf("%s: yielded %d, %t; want %d", k, v, ok, i)
			}
		}
		if len(seen) != 3000 {
			t.Errorf("%d keys yielded, want 3000", len(seen))
		}
	})

	// Catches: yield called again after it returned false (the runtime panics), a lock left held.
	bubble(t, "stops early", func(t *testing.T) {
		c := newCache(t, cache.Options[string, int]{})
		fill(c, 100)
		for stop := range 20 {
			n := 0
			for range c.All() {
				if n++; n > stop {
					break
				}
			}
		}
		c.Set("after", 1)
		wantHit(t, c, "after", 1)
	})

	// Catches: a lock held while the body runs, and stable keys lost or repeated when the arrays
	// grow, shrink or are reordered meanwhile.
	for _, limit := range []int{0, 4000, 20_000} {
		bubble(t, fmt.Sprintf("the body may call the cache, limit %d", limit), func(t *testing.T) {
			c := newCache(t, cache.Options[string, int]{Limit: limit})
			stable := numbered("stable", 300)
			for i, k := range stable {
				c.Set(k, i)
			}
			times := map[string]int{}
			churn := 0
			for k := range c.All() {
				times[k]++
				for range 10 {
					churn++
					c.Set(fmt.Sprint("churn", churn), churn)
					c.Get(k)
					c.Del(fmt.Sprint("churn", churn-50))
				}
				if churn >= 100_000 {
					break // never: All need not yield what is added meanwhile, but may
				}
			}
			for _, k := range stable {
				if _, here := c.Peek(k); here && times[k] != 1 {
					t.Errorf("%s: yielded %d times, want once", k, times[k])
				}
			}
		})
	}

	// Catches: entries that are moved, when the arrays shrink, from where All has yet to come to where
	// it has been.
	bubble(t, "the body may remove most", func(t *testing.T) {
		c := newCache(t, cache.Options[string, int]{Limit: 4000})
		fill(c, 4000)
		times := map[string]int{}
		for k := range c.All() {
			if times[k]++; len(times) > 1 {
				continue
			}
			for i := range 4000 {
				if i%100 != 0 {
					c.Del(strconv.Itoa(i))
				}
			}
		}
		for i := 0; i < 4000; i += 100 {
			if n := times[strconv.Itoa(i)]; n != 1 {
				t.Errorf("%d: yielded %d times, want once", i, n)
			}
		}
	})

	// Catches: a body that removes everything and meets stale entries.
	bubble(t, "Clear in the body", func(t *testing.T) {
		c := newCache(t, cache.Options[string, int]{})
		fill(c, 1000)
		n := 0
		for range c.All() {
			c.Clear()
			n++
		}
		if n > 1000 {
			t.Errorf("%d keys yielded of 1000", n)
		}
		wantLen(t, c, 0)
	})

	// Catches: a race between All and writers (-race), and stable keys lost beside them.
	t.Run("beside writers", func(t *testing.T) {
		c := newCache(t, cache.Options[string, int]{})
		stable := numbered("stable", 500)
		for i, k := range stable {
			c.Set(k, i)
		}
		var stop atomic.Bool
		var writers sync.WaitGroup
		for g := range 3 {
			writers.Go(func() {
				for i := 0; !stop.Load(); i++ {
					c.Set(fmt.Sprint(g, i%2000), i)
					c.Del(fmt.Sprint(g, (i+1000)%2000))
				}
			})
		}
		for range scaled(50) {
			seen := map[string]int{}
			for k := range c.All() {
				seen[k]++
			}
			for _, k := range stable {
				if seen[k] != 1 {
					t.Errorf("%s: yielded %d times, want once", k, seen[k])
				}
			}
		}
		stop.Store(true)
		writers.Wait()
	})
}

func TestClear(t *testing.T) {
	// Catches: entries, weight, expiry tasks or order links that survive a Clear.
	bubble(t, "empties, reports and goes on", func(t *testing.T) {
		var rec recorder[string, int]
		c := newCache(t, cache.Options[string, int]{Limit: 3, OnRemove: rec.add})
		for round := range 5 {
			c.Set("a", round)
			c.SetWithExpire("b", round, time.Minute)
			c.Set("c", round)
			c.Clear()
			wantLen(t, c, 0)
			wantMiss(t, c, "a")
			wantEvents(t, &rec, event("a", round, cache.Cleared), event("b", round, cache.Cleared), event("c", round, cache.Cleared))
		}
		c.SetWithExpire("b", 7, time.Hour) // not to be hit by the tasks of the cleared ones
		time.Sleep(2 * time.Minute)
		wantHit(t, c, "b", 7)
	})

	// Catches: Clear that leaves the weight behind, so that the cache fills up with nothing.
	bubble(t, "gives the weight back", func(t *testing.T) {
		c := newCache(t, cache.Options[string, int]{MaxWeight: 10, Weigh: func(string, int) uint32 { return 10 }})
		c.Set("a", 1)
		c.Clear()
		if w := c.Stats().Weight; w != 0 {
			t.Errorf("weight %d after Clear, want 0", w)
		}
		c.Set("b", 2)
		wantHit(t, c, "b", 2)
	})

	// Catches: Clear that misses shards.
	bubble(t, "all shards", func(t *testing.T) {
		c := newCache(t, cache.Options[string, int]{})
		fill(c, 20_000)
		c.Clear()
		wantLen(t, c, 0)
		if n := len(collect(t, c)); n != 0 {
			t.Errorf("%d entries left", n)
		}
	})
}

func TestGetOrSet(t *testing.T) {
	// Catches: a swapped result, a value replaced although present, an expired one taken for present.
	bubble(t, "stores only what is absent", func(t *testing.T) {
		c := newCache(t, cache.Options[string, int]{Expire: time.Second})
		want := func(value, wantActual int, wantLoaded bool) {
			t.Helper()
			if v, loaded := c.GetOrSet("k", value); v != wantActual || loaded != wantLoaded {
				t.Errorf("GetOrSet(%d) = %d, %t; want %d, %t", value, v, loaded, wantActual, wantLoaded)
			}
		}
		want(1, 1, false)
		want(2, 1, true)
		time.Sleep(time.Second)
		want(3, 3, false)
		time.Sleep(time.Second - time.Nanosecond)
		want(4, 3, true)
		wantHit(t, c, "k", 3)
	})

	// Catches: two callers that both think they stored.
	t.Run("one winner", func(t *testing.T) {
		c := newCache(t, cache.Options[string, int]{})
		for _, key := range numbered("k", scaled(500)) {
			var winners atomic.Int32
			var actual [8]int
			together(8, func(g int) {
				v, loaded := c.GetOrSet(key, g)
				actual[g] = v
				if !loaded {
					winners.Add(1)
				}
			})
			if winners.Load() != 1 || slices.Min(actual[:]) != slices.Max(actual[:]) {
				t.Fatalf("%s: %d winners, values %v", key, winners.Load(), actual)
			}
		}
	})
}

func TestCompute(t *testing.T) {
	// Catches: each operation doing what another should, or reporting what is not there.
	bubble(t, "operations", func(t *testing.T) {
		var rec recorder[string, int]
		c := newCache(t, cache.Options[string, int]{Expire: time.Minute, OnRemove: rec.add})
		compute := func(op cache.Op, value, wantOld int, wantFound bool, want int, wantOK bool) {
			t.Helper()
			v, ok := c.Compute("k", func(old int, found bool) (int, cache.Op) {
				if old != wantOld || found != wantFound {
					t.Errorf("f got %d, %t; want %d, %t", old, found, wantOld, wantFound)
				}
				return value, op
			})
			if v != want || ok != wantOK {
				t.Errorf("Compute = %d, %t; want %d, %t", v, ok, want, wantOK)
			}
		}
		compute(cache.OpKeep, 9, 0, false, 0, false)
		compute(cache.OpDelete, 9, 0, false, 0, false)
		wantLen(t, c, 0)
		compute(cache.OpSet, 1, 0, false, 1, true)
		compute(cache.OpKeep, 9, 1, true, 1, true)
		wantEvents(t, &rec)
		compute(cache.OpSet, 2, 1, true, 2, true)
		wantEvents(t, &rec, event("k", 1, cache.Replaced))
		compute(cache.OpDelete, 9, 2, true, 0, false)
		wantEvents(t, &rec, event("k", 2, cache.Deleted))
		compute(cache.OpSet, 3, 0, false, 3, true)
		time.Sleep(time.Minute)
		compute(cache.OpSet, 4, 0, false, 4, true) // the expired 3 is not found
		wantEvents(t, &rec, event("k", 3, cache.Expired))
		time.Sleep(time.Minute - time.Nanosecond)
		wantHit(t, c, "k", 4) // with the default TTL
		time.Sleep(time.Nanosecond)
		wantMiss(t, c, "k")
	})

	// Catches: OpKeep that restarts the TTL.
	bubble(t, "OpKeep leaves the TTL alone", func(t *testing.T) {
		c := newCache(t, cache.Options[string, int]{Expire: time.Minute})
		c.SetWithExpire("k", 1, time.Second)
		time.Sleep(time.Second / 2)
		c.Compute("k", func(old int, _ bool) (int, cache.Op) { return old, cache.OpKeep })
		time.Sleep(time.Second / 2)
		wantMiss(t, c, "k")
	})

	// Catches: updates lost between reading the old value and storing the new one.
	t.Run("an atomic counter", func(t *testing.T) {
		c := newCache(t, cache.Options[string, int]{Expire: time.Hour})
		const goroutines, keys = 8, 3
		rounds := scaled(5000)
		together(goroutines, func(g int) {
			for i := range rounds {
				c.Compute(fmt.Sprint(i%keys), func(old int, _ bool) (int, cache.Op) { return old + 1, cache.OpSet })
			}
		})
		sum := 0
		for _, v := range collect(t, c) {
			sum += v
		}
		if sum != goroutines*rounds {
			t.Errorf("counted %d, want %d", sum, goroutines*rounds)
		}
	})

	// Catches: f run under a lock (it hangs), and a result stored over what f itself changed.
	bubble(t, "f may call the cache", func(t *testing.T) {
		c := newCache(t, cache.Options[string, int]{})
		c.Set("k", 1)
		runs := 0
		v, ok := c.Compute("k", func(old int, found bool) (int, cache.Op) {
			if runs++; runs == 1 {
				c.Set("other", 5)
				c.Set("k", 10) // changes the key: f must be run again with 10
			}
			return old + 1, cache.OpSet
		})
		if v != 11 || !ok || runs != 2 {
			t.Errorf("Compute = %d, %t after %d runs; want 11, true after 2", v, ok, runs)
		}
		wantHit(t, c, "k", 11)
	})

	// Catches: a panic of f that leaves a lock held or a half-made entry.
	bubble(t, "f may panic", func(t *testing.T) {
		c := newCache(t, cache.Options[string, int]{})
		c.Set("k", 1)
		if got := recovered(func() {
			c.Compute("k", func(int, bool) (int, cache.Op) { panic("boom") })
		}); got != "boom" {
			t.Errorf("recovered %v, want boom", got)
		}
		wantHit(t, c, "k", 1)
		c.Set("k", 2)
		wantHit(t, c, "k", 2)
	})
}

// Helpers.

// maxTick is the longest tick of the expiry driver: no expired entry stays longer.
const maxTick = time.Second

var errFetch = errors.New("fetch failed")

func failFetch() (int, error) { return 0, errFetch }

// bubble runs f as a subtest in a synctest bubble: time is fake, and the end of
// the bubble fails the test if f left a goroutine behind.
func bubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

// tb is what the helpers need of a *testing.T or a *rapid.T.
type tb interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// bubbleCheck runs a rapid property as a subtest. The property draws outside the
// bubble and runs its operations in rapid.SyncTest.
func bubbleCheck(t *testing.T, name string, property func(*rapid.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { rapid.Check(t, property) })
}

func newCache[K comparable, V any](t tb, o cache.Options[K, V]) *cache.Cache[K, V] {
	t.Helper()
	c, err := cache.New(o)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return c
}

// numbered returns the n keys prefix0, prefix1, ...
func numbered(prefix string, n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = prefix + strconv.Itoa(i)
	}
	return keys
}

// fill sets the keys "0" to n-1 to their number.
func fill(c *cache.Cache[string, int], n int) {
	for i := range n {
		c.Set(strconv.Itoa(i), i)
	}
}

// scaled returns n, or a tenth of it with -short.
func scaled(n int) int {
	if testing.Short() {
		return max(1, n/10)
	}
	return n
}

// together runs f on n goroutines and waits for all of them.
func together(n int, f func(g int)) {
	var wg sync.WaitGroup
	for g := range n {
		wg.Go(func() { f(g) })
	}
	wg.Wait()
}

// collect returns what All yields and fails on a key that comes twice.
func collect[K comparable, V any](t tb, c *cache.Cache[K, V]) map[K]V {
	t.Helper()
	seen := map[K]V{}
	for k, v := range c.All() {
		if _, twice := seen[k]; twice {
			t.Fatalf("All yielded %v twice", k)
		}
		seen[k] = v
	}
	return seen
}

// countLive returns how many of the keys Peek finds.
func countLive[K comparable, V any](c *cache.Cache[K, V], keys []K) int {
	n := 0
	for _, k := range keys {
		if _, ok := c.Peek(k); ok {
			n++
		}
	}
	return n
}

func mustResize[K comparable, V any](t tb, c *cache.Cache[K, V], limit int) {
	t.Helper()
	if err := c.Resize(limit); err != nil {
		t.Fatalf("Resize(%d): %v", limit, err)
	}
}

func mustClose[K comparable, V any](t tb, c *cache.Cache[K, V]) {
	t.Helper()
	if err := c.Close(context.Background()); err != nil {
		t.Fatalf("Close: %v", err)
	}
}

func wantHit[K, V comparable](t tb, c *cache.Cache[K, V], key K, want V) {
	t.Helper()
	if v, ok := c.Get(key); !ok || v != want {
		t.Fatalf("Get(%v) = %v, %t; want %v, true", key, v, ok, want)
	}
}

func wantMiss[K, V comparable](t tb, c *cache.Cache[K, V], key K) {
	t.Helper()
	var zero V
	if v, ok := c.Get(key); ok || v != zero {
		t.Fatalf("Get(%v) = %v, %t; want a miss", key, v, ok)
	}
}

func wantLen[K comparable, V any](t tb, c *cache.Cache[K, V], want int) {
	t.Helper()
	if n := c.Len(); n != want {
		t.Fatalf("Len = %d, want %d", n, want)
	}
}

// recovered runs f and returns the value of its panic, nil if there was none.
func recovered(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

func event(key string, value int, cause cache.Cause) cache.Event[string, int] {
	return cache.Event[string, int]{Key: key, Value: value, Cause: cause}
}

// recorder is an OnRemove that keeps what it is told.
type recorder[K comparable, V any] struct {
	mu     sync.Mutex
	events []cache.Event[K, V]
}

func (r *recorder[K, V]) add(e cache.Event[K, V]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// take returns the events since the last take, after all callbacks of the bubble
// have run.
func (r *recorder[K, V]) take() []cache.Event[K, V] {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	events := r.events
	r.events = nil
	return events
}

// wantEvents compares the events since the last look with want. Only the order
// within a key counts.
func wantEvents(t tb, r *recorder[string, int], want ...cache.Event[string, int]) {
	t.Helper()
	byKey := func(a, b cache.Event[string, int]) int { return strings.Compare(a.Key, b.Key) }
	got := r.take()
	slices.SortStableFunc(got, byKey)
	slices.SortStableFunc(want, byKey)
	if !slices.Equal(got, want) {
		t.Fatalf("events %v, want %v", got, want)
	}
}

// outcome is how a call on a goroutine of its own ended.
type outcome struct {
	value    int
	err      error
	panicked any
	goexit   bool
	done     chan struct{}
}

// start runs f on a new goroutine and, in a bubble, waits until it has ended or
// is blocked.
func start(f func() (int, error)) *outcome {
	o := &outcome{done: make(chan struct{}), goexit: true}
	go func() {
		defer close(o.done)
		defer func() {
			if r := recover(); r != nil {
				o.panicked, o.goexit = r, false
			}
		}()
		o.value, o.err = f()
		o.goexit = false
	}()
	synctest.Wait()
	return o
}

func (o *outcome) running() bool {
	select {
	case <-o.done:
		return false
	default:
		return true
	}
}

// want waits for the call and fails unless it returned value and err.
func (o *outcome) want(t tb, value int, err error) {
	t.Helper()
	<-o.done
	if o.panicked != nil || o.goexit {
		t.Fatalf("the call panicked with %v or ended its goroutine (%t); want it to return", o.panicked, o.goexit)
	}
	if o.value != value || o.err != err {
		t.Fatalf("the call returned %d, %v; want %d, %v", o.value, o.err, value, err)
	}
}

// unboundedBacklog is so many removals that a cache which has not made their
// caller wait by then will not.
const unboundedBacklog = 1 << 21

// backlog is a goroutine that removes until the cache makes it wait.
type backlog struct {
	removals atomic.Int64 // completed
	stop     atomic.Bool  // the removal under way is the last
	done     chan struct{}
}

// removeUntilBlocked calls remove with 0, 1, 2, ... on a goroutine of its own until
// a call does not return, and fails the test if that never happens. All callbacks
// of the cache must be blocked.
func removeUntilBlocked(t *testing.T, remove func(i int)) *backlog {
	t.Helper()
	b := &backlog{done: make(chan struct{})}
	go func() {
		defer close(b.done)
		for i := 0; i < unboundedBacklog && !b.stop.Load(); i++ {
			remove(i)
			b.removals.Add(1)
		}
	}()
	synctest.Wait()
	b.stop.Store(true)
	if b.removals.Load() == unboundedBacklog {
		t.Errorf("%d removals behind blocked callbacks, and nobody waited", unboundedBacklog)
	}
	return b
}
