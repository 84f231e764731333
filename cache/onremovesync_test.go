package cache

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A teller records what OnRemoveSync is told, and in which goroutine.
type teller struct {
	mu     sync.Mutex
	events []Event[int, int]
	by     []uint64
}

func (r *teller) add(e Event[int, int]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events, r.by = append(r.events, e), append(r.by, goroutineID())
}

// take returns the events since the last call, and whether this goroutine was told of all.
func (r *teller) take() (events []Event[int, int], here bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	here = !slices.ContainsFunc(r.by, func(id uint64) bool { return id != goroutineID() })
	events, r.events, r.by = r.events, nil, nil
	return events, here
}

// TestOnRemoveSync calls each method that removes a value. OnRemoveSync is called before it
// returns, in its goroutine, and without a lock.
func TestOnRemoveSync(t *testing.T) {
	type told = []Event[int, int]
	ctx := context.Background()
	set := func(value int, op Op) func(int, bool) (int, Op) {
		return func(int, bool) (int, Op) { return value, op }
	}
	fetch := func(context.Context) (int, error) { return 9, nil }
	for _, c := range []struct {
		name string
		do   func(c *Cache[int, int])
		want told
	}{
		{"Set", func(c *Cache[int, int]) { c.Set(1, 9) }, told{{1, 10, Replaced}}},
		{"Set of a new key", func(c *Cache[int, int]) { c.Set(3, 9) }, told{{1, 10, Evicted}}},
		{"SetWithExpire", func(c *Cache[int, int]) { c.SetWithExpire(1, 9, -1) }, told{{1, 10, Deleted}}},
		{"Touch", func(c *Cache[int, int]) { c.Touch(1, -1) }, told{{1, 10, Deleted}}},
		{"GetOrSet", func(c *Cache[int, int]) { c.GetOrSet(3, 9) }, told{{1, 10, Evicted}}},
		{"Swap", func(c *Cache[int, int]) { c.Swap(1, 9) }, told{{1, 10, Replaced}}},
		{"Compute", func(c *Cache[int, int]) { c.Compute(1, set(9, OpSet)) }, told{{1, 10, Replaced}}},
		{"Compute that deletes", func(c *Cache[int, int]) { c.Compute(2, set(0, OpDelete)) }, told{{2, 20, Deleted}}},
		{"Del", func(c *Cache[int, int]) { c.Del(2) }, told{{2, 20, Deleted}}},
		{"GetAndDel", func(c *Cache[int, int]) { c.GetAndDel(2) }, told{{2, 20, Deleted}}},
		{"DelFunc", func(c *Cache[int, int]) { c.DelFunc(func(key, _ int) bool { return key == 2 }) }, told{{2, 20, Deleted}}},
		{"Expire", func(c *Cache[int, int]) { c.Expire(2) }, told{{2, 20, Expired}}},
		{"ExpireAll", func(c *Cache[int, int]) { c.ExpireAll() }, told{{1, 10, Expired}, {2, 20, Expired}}},
		{"Clear", func(c *Cache[int, int]) { c.Clear() }, told{{1, 10, Cleared}, {2, 20, Cleared}}},
		{"Close", func(c *Cache[int, int]) { _ = c.Close(ctx) }, told{{1, 10, Cleared}, {2, 20, Cleared}}},
		{"Resize", func(c *Cache[int, int]) { _ = c.Resize(1) }, told{{1, 10, Evicted}}},
		{"Take", func(c *Cache[int, int]) { _, _ = c.Take(3, func() (int, error) { return 9, nil }) }, told{{1, 10, Evicted}}},
		{"TakeCtx", func(c *Cache[int, int]) { _, _ = c.TakeCtx(ctx, 3, fetch) }, told{{1, 10, Evicted}}},
		{"TakeMany", func(c *Cache[int, int]) {
			_, _ = c.TakeMany(ctx, []int{3, 4}, func(context.Context, []int) (map[int]int, error) { return map[int]int{3: 9, 4: 9}, nil })
		}, told{{1, 10, Evicted}, {2, 20, Evicted}}},
		{"Get", func(c *Cache[int, int]) { c.Get(1) }, nil},
	} {
		var r teller
		var cache *Cache[int, int]
		cache = Must(Options[int, int]{Limit: 2, OnRemoveSync: func(e Event[int, int]) {
			cache.Get(e.Key)
			cache.Stats()
			r.add(e)
		}})
		cache.Set(1, 10)
		cache.Set(2, 20)
		c.do(cache)
		if got, here := r.take(); !slices.Equal(got, c.want) || !here {
			t.Errorf("%s: told %v, want %v; in its goroutine: %v", c.name, got, c.want, here)
		}
		if err := cache.Close(ctx); err != nil {
			t.Errorf("%s: Close: %v", c.name, err)
		}
	}
}

// TestOnRemoveSyncOfALoad checks that a load which runs in another goroutine tells before its
// callers have the value, also if a call ends that goroutine.
func TestOnRemoveSyncOfALoad(t *testing.T) {
	for _, exits := range []bool{false, true} {
		var told atomic.Int32
		c := Must(Options[int, int]{Limit: 1, OnPanic: func(any, []byte) {}, OnRemoveSync: func(e Event[int, int]) {
			told.Add(1)
			if exits && e.Cause == Evicted {
				runtime.Goexit()
			}
		}})
		for i := range 10 {
			ctx, cancel := context.WithCancel(t.Context())
			v, err := c.TakeCtx(ctx, i, func(context.Context) (int, error) { return 100 + i, nil })
			cancel()
			if n := int(told.Load()); v != 100+i || err != nil || n != i {
				t.Errorf("exits %v, load %d: %d, %v, and %d told before it; want %d", exits, i, v, err, n, i)
			}
		}
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestOnRemoveSyncOfExpired checks that the cache tells of what expires by itself, within a tick,
// and goes on if a call ends its goroutine or panics.
func TestOnRemoveSyncOfExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r teller
		panics := 0
		c := Must(Options[int, int]{Expire: time.Second, OnPanic: func(any, []byte) { panics++ }, OnRemoveSync: func(e Event[int, int]) {
			r.add(e)
			switch e.Key {
			case 1:
				panic("oh")
			case 2:
				runtime.Goexit()
			}
		}})
		for round := range 3 {
			for key := range 4 {
				c.Set(key, round)
			}
			time.Sleep(time.Second + c.shared.timing.tick)
			synctest.Wait()
			events, here := r.take()
			if len(events) != 4 || here {
				t.Errorf("round %d: told %v; in this goroutine: %v", round, events, here)
			}
		}
		if s := c.Stats(); panics != 6 || s.Callbacks.Panics != 6 || s.Removals.Expired != 12 {
			t.Errorf("%d panics, %+v", panics, s)
		}
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// TestOnRemoveSyncKeepsASize has goroutines change a few keys, which share their turns, and
// evict. Once all have returned, a sum that OnRemoveSync keeps is that of the cache; those of one
// key came in order.
func TestOnRemoveSyncKeepsASize(t *testing.T) {
	var sum, next atomic.Int64
	last := make([]int, 8) // each is guarded by the order of its key
	c := Must(Options[int, int]{Limit: 6, Workers: 1, OnRemove: func(Event[int, int]) {}, OnRemoveSync: func(e Event[int, int]) {
		sum.Add(-int64(e.Value))
		if e.Value == last[e.Key] {
			t.Errorf("%+v twice", e)
		}
		last[e.Key] = e.Value
	}})
	var group sync.WaitGroup
	for g := range 8 {
		group.Go(func() {
			for i := range 1000 {
				v := int(next.Add(1))
				sum.Add(int64(v))
				c.Set((g+i)%len(last), v)
				if i%7 == 0 {
					c.Del(i % len(last))
				}
				if i%100 == 0 {
					c.Clear()
				}
			}
		})
	}
	group.Wait()
	want := 0
	for _, v := range c.All() {
		want += v
	}
	if got := sum.Load(); got != int64(want) {
		t.Errorf("the sum is %d, and that of the values %d", got, want)
	}
	if err := c.Close(t.Context()); err != nil || sum.Load() != 0 {
		t.Errorf("after Close: %d, %v", sum.Load(), err)
	}
}

// TestOnRemoveSyncMayUseTheCache checks what a call may do: change its own key and others, and
// close the cache.
func TestOnRemoveSyncMayUseTheCache(t *testing.T) {
	var c *Cache[int, int]
	var told []string
	c = Must(Options[int, int]{OnRemoveSync: func(e Event[int, int]) {
		told = append(told, fmt.Sprint(e.Key, e.Value, " begins"))
		switch e.Value {
		case 1:
			c.Set(1, 3) // replaces 2, of which is told after this
			c.Del(5)    // at once
			if err := c.Wait(context.Background()); err == nil || !strings.Contains(err.Error(), "OnRemove") {
				t.Errorf("Wait: %v", err)
			}
		case 3:
			if err := c.Close(context.Background()); !errors.Is(err, errCallback) {
				t.Errorf("Close: %v", err)
			}
		}
		told = append(told, fmt.Sprint(e.Key, e.Value, " ends"))
	}})
	c.Set(5, 50)
	c.Set(6, 60)
	c.Set(1, 1)
	c.Set(1, 2)
	if want := []string{"1 1 begins", "5 50 begins", "5 50 ends", "1 1 ends", "1 2 begins", "1 2 ends"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	told = nil
	c.Del(1)
	if want := []string{"1 3 begins", "6 60 begins", "6 60 ends", "1 3 ends"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestCloseWaitsForOnRemoveSync checks that Close and Wait wait for a call that another goroutine
// makes.
func TestCloseWaitsForOnRemoveSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan struct{})
		c := Must(Options[int, int]{OnRemoveSync: func(Event[int, int]) { <-answer }})
		c.Set(1, 1)
		go c.Del(1)
		synctest.Wait()
		if s := c.Stats().Callbacks; s.Running != 1 || s.Queued != 0 {
			t.Errorf("%+v", s)
		}
		for name, wait := range map[string]func(context.Context) error{"Wait": c.Wait, "Close": c.Close} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if err := wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", name, err)
			}
			cancel()
		}
		close(answer)
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestOnRemoveSyncEndsAWalk checks that a call which ends the goroutine of a walk leaves nothing
// pinned or locked, and that the rest of a batch is told.
func TestOnRemoveSyncEndsAWalk(t *testing.T) {
	for name, walk := range map[string]func(*Cache[int, int]){
		"Clear":      func(c *Cache[int, int]) { c.Clear() },
		"Close":      func(c *Cache[int, int]) { _ = c.Close(context.Background()) },
		"Resize":     func(c *Cache[int, int]) { _ = c.Resize(1) },
		"DelFunc":    func(c *Cache[int, int]) { c.DelFunc(func(int, int) bool { return true }) },
		"DelExpired": func(c *Cache[int, int]) { c.DelExpired() },
		"ExpireAll":  func(c *Cache[int, int]) { c.ExpireAll() },
	} {
		synctest.Test(t, func(t *testing.T) {
			told := 0
			c := Must(Options[int, int]{Limit: 1000, OnPanic: func(any, []byte) {}, OnRemoveSync: func(Event[int, int]) {
				if told++; told == 3 {
					runtime.Goexit()
				}
			}})
			for key := range 200 {
				c.SetWithExpire(key, key, time.Millisecond)
			}
			if name == "DelExpired" {
				time.Sleep(time.Millisecond + 1)
			}
			var group sync.WaitGroup
			group.Go(func() { walk(c) })
			group.Wait()
			for i := range c.allShards() {
				if n := c.allShards()[i].pins.Load(); n != 0 {
					t.Errorf("%s: %d pins", name, n)
				}
			}
			if !c.shared.shape.TryLock() {
				t.Fatalf("%s: the table is locked", name)
			}
			c.shared.shape.Unlock()
			if err := c.Close(t.Context()); err != nil || told != 200 {
				t.Errorf("%s: told of %d; Close: %v", name, told, err)
			}
		})
	}
}

// TestOnRemoveSyncAllocates counts what a call costs beside the Set.
func TestOnRemoveSyncAllocates(t *testing.T) {
	c := Must(Options[int, int]{OnRemoveSync: func(Event[int, int]) {}})
	if n := testing.AllocsPerRun(1000, func() { c.Set(1, 1) }); n > 1 {
		t.Errorf("%v allocations for a Set that tells, want 1", n)
	}
}
