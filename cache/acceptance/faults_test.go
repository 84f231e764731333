package acceptance

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// The tests of faults of the program, the machine or a caller, and of what the cache still
// promises. docs/guarantees.md lists them, with those that the tests of the promises show.

// backlogBound is how many events may wait before callers that remove values wait, as
// documented at Options.OnRemove.
const backlogBound = 4096

// methods returns a call that ends by itself for every method of a cache, by name.
func methods[K comparable](c *cache.Cache[K, int], key K) map[string]func() {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	return map[string]func(){
		"Get":           func() { c.Get(key) },
		"Peek":          func() { c.Peek(key) },
		"Set":           func() { c.Set(key, 1) },
		"SetWithExpire": func() { c.SetWithExpire(key, 1, time.Hour) },
		"Touch":         func() { c.Touch(key, time.Hour) },
		"GetOrSet":      func() { c.GetOrSet(key, 1) },
		"Compute": func() {
			c.Compute(key, func(old int, _ bool) (int, cache.Op) { return old + 1, cache.OpSet })
		},
		"Take": func() { _, _ = c.Take(key, func() (int, error) { return 1, nil }) },
		"TakeCtx": func() {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			_, _ = c.TakeCtx(ctx, key, func(context.Context) (int, error) { return 1, nil })
		},
		"Del":     func() { c.Del(key) },
		"Clear":   func() { c.Clear() },
		"All":     func() { c.All()(func(K, int) bool { return true }) },
		"Len":     func() { c.Len() },
		"Resize":  func() { _ = c.Resize(5) },
		"Stats":   func() { c.Stats() },
		"HotKeys": func() { c.HotKeys() },
		"ComputeWithExpire": func() {
			c.ComputeWithExpire(key, time.Hour, func(old int, _ bool) (int, cache.Op) { return old + 1, cache.OpSet })
		},
		"GetOrSetWithExpire": func() { c.GetOrSetWithExpire(key, 1, time.Hour) },
		"TakeWith": func() {
			_, _ = c.TakeWith(context.Background(), key, func(context.Context, *cache.Load[int]) (int, error) { return 1, nil })
		},
		"TakeMany": func() {
			_, _ = c.TakeMany(context.Background(), []K{key}, func(context.Context, []K) (map[K]int, error) { return map[K]int{key: 1}, nil })
		},
		"Fetch":     func() { _, _ = c.Fetch(loadsOne, key) },
		"FetchMany": func() { _, _ = c.FetchMany(loadsOne, []K{key}) },
		"TakeEntry": func() { _, _ = c.TakeEntry(loadsOne, key, cache.Within(0), nil) },
		"ComputeEntry": func() {
			c.ComputeEntry(key, time.Hour, func(old int, _ bool) (int, cache.Op) { return old + 1, cache.OpSet })
		},
		"Refresh":      func() { _ = c.Refresh(loadsOne, key) },
		"Entry":        func() { c.Entry(key) },
		"Expire":       func() { c.Expire(key) },
		"ExpireFunc":   func() { c.ExpireFunc(func(k K, _ int) bool { return k == key }) },
		"ExpireAll":    func() { c.ExpireAll() },
		"Stale":        func() { c.Stale(key) },
		"GetMany":      func() { c.GetMany([]K{key}) },
		"DelMany":      func() { c.DelMany(key) },
		"Limit":        func() { c.Limit() },
		"Coldest":      func() { c.Coldest()(func(K, int) bool { return true }) },
		"Hottest":      func() { c.Hottest()(func(K, int) bool { return true }) },
		"Entries":      func() { c.Entries()(func(cache.Entry[K, int]) bool { return true }) },
		"GetAndDel":    func() { c.GetAndDel(key) },
		"Swap":         func() { c.Swap(key, 1) },
		"DelFunc":      func() { c.DelFunc(func(k K, _ int) bool { return k == key }) },
		"ResizeWeight": func() { _ = c.ResizeWeight(5) },
		"Wait":         func() { _ = c.Wait(ended) },
		"Tune":         func() { _, _ = c.Tune(func(t *cache.Tuning) { t.MaxLoads = 1001 - t.MaxLoads%2 }) },
		"Save": func() {
			_ = c.Save(io.Discard, func(b []byte, _ K, _ int) ([]byte, error) { return b, nil })
		},
		"Restore": func() { _, _ = c.Restore(strings.NewReader(""), func([]byte) (K, int, error) { return key, 1, nil }) },
		"SaveFile": func() {
			_ = c.SaveFile(ended, os.DevNull+"/none", func(b []byte, _ K, _ int) ([]byte, error) { return b, nil })
		},
		"RestoreFile": func() { _, _ = c.RestoreFile(os.DevNull+"/none", func([]byte) (K, int, error) { return key, 1, nil }) },
		"Record":      func() { _ = c.Record(ended, io.Discard, 1) },
		"Close":       func() { _ = c.Close(ended) },
	}
}

// Catches: a new method that the tests of faults do not know.
func TestFaultsKnowEveryMethod(t *testing.T) {
	c := New(t, cache.Options[string, int]{})
	known := methods(c, "k")
	for i := range reflect.TypeOf(c).NumMethod() {
		name := reflect.TypeOf(c).Method(i).Name
		if known[name] == nil {
			t.Errorf("%s is not among the methods that are tested with faults", name)
		}
		delete(known, name)
	}
	for name := range known {
		t.Errorf("the cache has no method %s", name)
	}
}

// wantReturn fails unless a call returns, even if all else in the bubble is blocked.
func wantReturn(t *testing.T, what string, call func()) {
	t.Helper()
	o := Start(func() (int, error) { call(); return 0, nil })
	if o.Running() || o.Panicked != nil {
		t.Errorf("%s does not return (panic %v)", what, o.Panicked)
	}
}

// closeTimesOut fails unless a blocked Close returns the cause of its context.
func closeTimesOut[K comparable, V any](t *testing.T, c *cache.Cache[K, V]) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(context.Background(), time.Second, ErrLeft)
	defer cancel()
	began := time.Now()
	if err := c.Close(ctx); err != ErrLeft || time.Since(began) != time.Second {
		t.Errorf("Close = %v after %v, want the cause of its context after 1s", err, time.Since(began))
	}
}

// A loader that never ends blocks callers that have joined it without a context, and no
// others: after a change of the key, others load it anew. Changes of the key meanwhile stay.
//
// Panics and Goexit are TestPromise4Take; a loader that ends after Close, TestPromise6Lifecycle.
func TestFaultyLoader(t *testing.T) {
	for _, take := range Takers() {
		Bubble(t, "hangs in "+take.Name, func(t *testing.T) { loaderHangs(t, take) })
	}
}

// Catches: a lock held while fetch runs; a method that waits for a load; a load that is given
// up after a time, so that there are two of one version; Close without an end.
func loaderHangs(t *testing.T, take Taker) {
	c := New(t, cache.Options[string, int]{Limit: 10, Expire: time.Minute, HotKeys: 3})
	gate := make(chan struct{})
	hung := Start(func() (int, error) { return take.Take(c, "k", Gated(gate, 1)) })
	waiter := Start(func() (int, error) { return take.Take(c, "k", FailFetch) })
	time.Sleep(24 * time.Hour)

	leaving, cancel := context.WithTimeoutCause(context.Background(), time.Minute, ErrLeft)
	defer cancel()
	if v, err := c.TakeCtx(leaving, "k", NoFetch(t)); err != ErrLeft {
		t.Errorf("TakeCtx beside the hanging load = %d, %v; want the cause of its context", v, err)
	}
	WantMiss(t, c, "k")
	c.Set("k", 2)
	WantHit(t, c, "k", 2)
	for _, key := range []string{"k", "other"} {
		for name, call := range methods(c, key) {
			if name != "Close" {
				wantReturn(t, fmt.Sprintf("%s of %q", name, key), call)
			}
		}
	}
	if v, err := take.Take(c, "another", func() (int, error) { return 3, nil }); v != 3 || err != nil {
		t.Errorf("%s of another key = %d, %v; want 3", take.Name, v, err)
	}
	c.Set("k", 4)
	if !hung.Running() || !waiter.Running() {
		t.Error("a call whose load hangs has returned")
	}

	closeTimesOut(t, c)
	close(gate)
	hung.Want(t, 1, nil)
	waiter.Want(t, 1, nil)
	MustClose(t, c)
}

// A callback that never ends blocks one worker and its key. When all workers are blocked,
// 4096 events wait; then callers that have removed a value wait, and no others.
//
// Panics, Goexit and the waiting of each remover are TestPromise5Callbacks.
func TestFaultyCallback(t *testing.T) {
	Bubble(t, "blocks for ever", callbackBlocks)
	Bubble(t, "blocks one worker of two", callbackBlocksOneWorker)
	for name := range methods(New(t, cache.Options[string, int]{}), "k") {
		Bubble(t, "calls "+name+" while others wait", func(t *testing.T) { callbackCalls(t, name) })
	}
}

// Catches: a bound that is another one than documented, or none; a remover that
// waits before it removes, so that the old value is still found; a Close that hangs,
// or that leaves the removers of a closed cache waiting.
func callbackBlocks(t *testing.T) {
	forever := make(chan struct{})
	var reported atomic.Int64
	c := New(t, cache.Options[string, int]{Workers: 1, HotKeys: 3, OnRemove: func(cache.Event[string, int]) {
		<-forever
		reported.Add(1)
	}})
	c.Set("present", 1)
	keys := Numbered("k", 20)
	for i, key := range keys {
		c.Set(key, i)
	}
	producer := RemoveUntilBlocked(t, func(i int) { c.Set("busy", i) })
	var waiting []*Outcome
	for _, key := range keys {
		waiting = append(waiting, Start(func() (int, error) { c.Del(key); return 0, nil }))
	}
	time.Sleep(24 * time.Hour)
	if n, want := c.Stats().Callbacks.Queued, backlogBound+1+len(keys); n != want {
		t.Errorf("%d events wait, want %d and one for each of the %d who wait", n, backlogBound, 1+len(keys))
	}
	for i, o := range waiting {
		if !o.Running() {
			t.Error("Del does not wait for the callbacks")
		}
		WantMiss(t, c, keys[i])
	}
	for _, name := range []string{"Get", "Peek", "Touch", "Take", "TakeCtx", "GetOrSet", "All", "Len", "Stats", "HotKeys"} {
		wantReturn(t, name, methods(c, "present")[name])
	}
	for _, name := range []string{"Set", "GetOrSet", "Take", "Del"} { // an absent key: nothing is removed
		wantReturn(t, name+" of an absent key", methods(c, "absent by "+name)[name])
	}

	closeTimesOut(t, c)
	for name, call := range methods(c, "present") {
		wantReturn(t, name+" of the closed cache", call)
	}
	WantLen(t, c, 0)
	close(forever)
	<-producer.Done
	MustClose(t, c)
	if stored := c.Stats().Sets; reported.Load() != int64(stored) {
		t.Errorf("%d values reported, %d stored and removed", reported.Load(), stored)
	}
}

// Catches: a queue for each worker, so that one that hangs stops a part of the keys.
func callbackBlocksOneWorker(t *testing.T) {
	forever := make(chan struct{})
	var reported atomic.Int64
	c := New(t, cache.Options[string, int]{Workers: 2, OnRemove: func(e cache.Event[string, int]) {
		if e.Key == "hangs" {
			<-forever
		}
		reported.Add(1)
	}})
	const others = 3 * backlogBound
	c.Set("hangs", 1)
	c.Del("hangs")
	wantReturn(t, "removing others", func() {
		for _, key := range Numbered("k", others) {
			c.Set(key, 1)
			c.Del(key)
		}
	})
	synctest.Wait()
	if n := reported.Load(); n != others {
		t.Errorf("%d values reported beside the callback that hangs, want %d", n, others)
	}
	close(forever)
	MustClose(t, c)
}

// Catches: a method that waits for callbacks although it is called by one, when that
// is the only one that may run, and the backlog is full.
func callbackCalls(t *testing.T, name string) {
	gate := make(chan struct{})
	var c *cache.Cache[string, int]
	var called atomic.Bool
	c = New(t, cache.Options[string, int]{Workers: 1, OnRemove: func(e cache.Event[string, int]) {
		<-gate
		if e.Value != 0 {
			return
		}
		for _, key := range []string{"busy", "absent"} { // its own, and another
			methods(c, key)[name]()
		}
		called.Store(true)
	}})
	producer := RemoveUntilBlocked(t, func(i int) { c.Set("busy", i) })
	close(gate)
	<-producer.Done
	synctest.Wait()
	if !called.Load() {
		t.Fatalf("%s does not return to the callback", name)
	}
	MustClose(t, c)
}

// The driver is blocked for minutes, as by slow callbacks, while the program goes on. No read
// finds an expired value, and no extended deadline is forgotten. When the driver is free,
// each expired value is reported once, and no other.
//
// Catches: reads that rely on the driver; a late task that expires an entry whose deadline
// was extended since; values lost or reported twice.
func TestDriverHeldUp(t *testing.T) {
	for _, stall := range []time.Duration{time.Second, time.Minute, 10 * time.Minute} {
		Bubble(t, stall.String(), func(t *testing.T) { driverHeldUp(t, stall) })
	}
}

func driverHeldUp(t *testing.T, stall time.Duration) {
	gate := make(chan struct{})
	var rec Recorder[string, int]
	c := New(t, cache.Options[string, int]{Workers: 1, OnRemove: func(e cache.Event[string, int]) {
		<-gate
		if e.Key != "busy" {
			rec.Add(e)
		}
	}})
	keys := Numbered("k", 100)
	for i, key := range keys {
		c.SetWithExpire(key, i, time.Duration(i+1)*stall/100)
	}
	producer := RemoveUntilBlocked(t, func(i int) { c.Set("busy", i) })
	for i, key := range keys {
		time.Sleep(stall/100 - 1)
		WantHit(t, c, key, i)
		if i%3 == 0 {
			c.Touch(key, 2*stall)
		}
		time.Sleep(time.Nanosecond)
		if i%3 != 0 {
			WantMiss(t, c, key)
		}
	}
	c.SetWithExpire("new", 1000, stall)
	if n := c.Stats().Removals.Expired; n > 10 { // those of one shard in one tick
		t.Errorf("%d entries were removed: the driver was not held up", n)
	}
	close(gate)
	<-producer.Done
	time.Sleep(min(2*MaxTick, stall/2))

	var want []cache.Event[string, int]
	for i, key := range keys {
		if i%3 == 0 {
			WantHit(t, c, key, i)
		} else {
			want = append(want, Event(key, i, cache.Expired))
		}
	}
	WantHit(t, c, "new", 1000)
	WantEvents(t, &rec, want...)
	time.Sleep(2*stall + 2*MaxTick)
	want = []cache.Event[string, int]{Event("new", 1000, cache.Expired)}
	for i := 0; i < len(keys); i += 3 {
		want = append(want, Event(keys[i], i, cache.Expired))
	}
	WantEvents(t, &rec, want...)
	MustClose(t, c)
}

// Extreme weights are counted exactly and never overflow: a value fits if the others can make
// room for it; otherwise it is removed at once. A weight of 0 counts as 1.
//
// Catches: sums in 32 bits, values without weight that nothing bounds, room that is not
// released when a value is changed or removed.
func TestExtremeWeights(t *testing.T) {
	for _, most := range []uint64{1, 2, huge - 1, huge, huge + 1, 3 * huge, math.MaxUint64 - 1, math.MaxUint64} {
		t.Run(fmt.Sprint(most), func(t *testing.T) { extremeWeights(t, most, []uint32{0, 1, 2, huge - 1, huge}) })
	}
}

const huge = math.MaxUint32 // the greatest weight

func extremeWeights(t *testing.T, most uint64, weights []uint32) {
	c := New(t, cache.Options[int, uint32]{MaxWeight: most, Weigh: func(_ int, w uint32) uint32 { return w }})
	stores := []func(key int, w uint32){
		c.Set,
		func(key int, w uint32) { c.Del(key); c.GetOrSet(key, w) },
		func(key int, w uint32) { c.Del(key); _, _ = c.Take(key, func() (uint32, error) { return w, nil }) },
		func(key int, w uint32) {
			c.Compute(key, func(uint32, bool) (uint32, cache.Op) { return w, cache.OpSet })
		},
	}
	for i, first := range weights {
		for j, second := range weights {
			for k, store := range stores {
				for n, w := range []uint32{first, second, first, 0, second} {
					key := (i + j + k + n) % 3
					store(key, w)
					if got, ok := c.Get(key); ok != (uint64(w) <= most) || ok && got != w {
						t.Fatalf("Get = %d, %t after storing a weight of %d of %d", got, ok, w, most)
					}
					WantWeightOfContents(t, c, func(w uint32) uint64 { return uint64(max(w, 1)) })
				}
			}
		}
	}
	c.Clear()
	held := int(min(most/huge, 1000)) // that fit
	for key := range 1000 {
		c.Set(key, huge)
		WantLen(t, c, min(key+1, held))
	}
	if w := c.Stats().Weight; w != uint64(held)*huge {
		t.Errorf("weight %d, want %d times %d", w, held, uint64(huge))
	}
	if n := len(Collect(t, c)); n != held {
		t.Errorf("All yields %d entries, want %d", n, held)
	}
	MustClose(t, c)
	if w := c.Stats().Weight; w != 0 {
		t.Errorf("weight %d of an empty cache", w)
	}
}
