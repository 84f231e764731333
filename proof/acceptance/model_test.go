package acceptance

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/proof/internal/harness"
)

// TestModel runs random operations on a cache and on a map with deadlines, in
// fake time, and compares every result and every event.
//
// Catches: whatever the subtests of the promises did not think of, in one
// goroutine: reads past or before a deadline, wrong results and causes, events
// lost, doubled, early or late, counters and Len that drift.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		o := cache.Options[int, int]{
			Expire:  rapid.SampledFrom([]time.Duration{0, time.Millisecond, 250 * time.Millisecond, 7 * time.Second}).Draw(rt, "expire"),
			Workers: rapid.IntRange(0, 3).Draw(rt, "workers"),
		}
		ops := rapid.SliceOfN(modelOps(), 100, 200).Draw(rt, "ops")
		rapid.SyncTest(rt, func(rt *rapid.T) { runModel(rt, o, ops) })
	})
}

// modelOp is one step: an operation on a key with a duration, where it has one.
type modelOp struct {
	name string
	key  int
	d    time.Duration
}

func (o modelOp) String() string { return fmt.Sprintf("%s(%d, %v)", o.name, o.key, o.d) }

func modelOps() *rapid.Generator[modelOp] {
	names := []string{
		"nothing", // first: what failing streams are shrunk to
		"Set", "SetWithExpire", "SetWithExpire", "Touch", "Get", "Peek", "GetOrSet", "Take", "Take fails",
		"Compute OpSet", "Compute OpKeep", "Compute OpDelete", "Del", "Clear", "All", "sleep", "sleep", "sleep to a deadline",
	}
	durations := rapid.OneOf(
		rapid.SampledFrom([]time.Duration{0, -1, 1, time.Millisecond, 100 * time.Millisecond, time.Second, 20 * time.Second}),
		rapid.Custom(func(t *rapid.T) time.Duration {
			unit := rapid.SampledFrom([]time.Duration{1, time.Microsecond, 10 * time.Millisecond, 100 * time.Millisecond}).Draw(t, "unit")
			return unit*time.Duration(rapid.IntRange(1, 50).Draw(t, "n")) + time.Duration(rapid.IntRange(-1, 1).Draw(t, "ns"))
		}),
	)
	return rapid.Custom(func(t *rapid.T) modelOp {
		return modelOp{
			name: rapid.SampledFrom(names).Draw(t, "op"),
			key:  rapid.IntRange(0, 7).Draw(t, "key"),
			d:    durations.Draw(t, "d"),
		}
	})
}

// model is the naive cache: what it should hold, and what it should have
// reported.
type model struct {
	t       *rapid.T
	c       *cache.Cache[int, int]
	expire  time.Duration
	entries map[int]modelEntry
	next    int // the next value; all are unique

	mu     sync.Mutex
	events []timedEvent // not yet checked

	due     []timedEvent           // must have been reported by now
	expired map[int]modelEntry     // by value: dead of age, to be reported within a tick
	last    map[int]int            // by key: the last value reported
	counts  map[cache.Cause]uint64 // reported
}

type modelEntry struct {
	key, value int
	deadline   time.Time // zero: never
}

func (e modelEntry) live() bool { return e.deadline.IsZero() || time.Now().Before(e.deadline) }

type timedEvent struct {
	cache.Event[int, int]
	at time.Time
}

func runModel(t *rapid.T, o cache.Options[int, int], ops []modelOp) {
	m := &model{
		t: t, expire: o.Expire, entries: map[int]modelEntry{}, next: 1,
		expired: map[int]modelEntry{}, last: map[int]int{}, counts: map[cache.Cause]uint64{},
	}
	o.OnRemove = func(e cache.Event[int, int]) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.events = append(m.events, timedEvent{e, time.Now()})
	}
	m.c = harness.New(t, o)
	for i, op := range ops {
		m.step(op)
		m.settle(fmt.Sprintf("after op %d, %v", i, op))
	}
	for key := range m.entries {
		m.remove(key, cache.Cleared)
	}
	harness.MustClose(t, m.c)
	m.settle("after Close")
	time.Sleep(2 * harness.MaxTick)
	m.settle("at the end")
	if len(m.expired) > 0 {
		t.Fatalf("never reported: %v", m.expired)
	}
	r := m.c.Stats().Removals
	if r.Expired != m.counts[cache.Expired] || r.Deleted != m.counts[cache.Deleted] || r.Evicted != 0 ||
		r.Replaced != m.counts[cache.Replaced] || r.Cleared != m.counts[cache.Cleared] {
		t.Fatalf("counted %+v, reported %v", r, m.counts)
	}
}

// step runs op on both and compares the results.
func (m *model) step(op modelOp) {
	e, present := m.entries[op.key]
	live := present && e.live()
	if !live {
		e.value = 0
	}
	fail := func(got ...any) {
		m.t.Helper()
		m.t.Fatalf("%v returned %v; the entry is %+v (live %t)", op, got, e, live)
	}
	switch op.name {
	case "Set":
		m.c.Set(op.key, m.next)
		m.store(op.key, m.expire)
	case "SetWithExpire":
		m.c.SetWithExpire(op.key, m.next, op.d)
		if op.d >= 0 {
			m.store(op.key, op.d)
		} else {
			m.remove(op.key, cache.Deleted)
		}
	case "Touch":
		if got := m.c.Touch(op.key, op.d); got != live {
			fail(got)
		}
		if live && op.d >= 0 {
			m.entries[op.key] = modelEntry{op.key, e.value, deadline(op.d)}
		} else if live {
			m.remove(op.key, cache.Deleted)
		}
	case "Get":
		if v, ok := m.c.Get(op.key); ok != live || v != e.value {
			fail(v, ok)
		}
	case "Peek":
		if v, ok := m.c.Peek(op.key); ok != live || v != e.value {
			fail(v, ok)
		}
	case "GetOrSet":
		value := m.next
		if !live {
			e.value = value
		}
		if v, loaded := m.c.GetOrSet(op.key, value); loaded != live || v != e.value {
			fail(v, loaded)
		}
		if !live {
			m.store(op.key, m.expire)
		}
	case "Take":
		value := m.next
		want := e.value
		if !live {
			want = value
		}
		if v, err := m.c.Take(op.key, func() (int, error) { return value, nil }); v != want || err != nil {
			fail(v, err)
		}
		if !live {
			m.store(op.key, m.expire)
		}
	case "Take fails":
		v, err := m.c.Take(op.key, harness.FailFetch)
		if live && (v != e.value || err != nil) || !live && err != harness.ErrFetch {
			fail(v, err)
		}
	case "Compute OpSet", "Compute OpKeep", "Compute OpDelete":
		m.compute(op, e.value, live)
	case "Del":
		if got := m.c.Del(op.key); got != live {
			fail(got)
		}
		m.remove(op.key, cache.Deleted)
	case "Clear":
		m.c.Clear()
		for key := range m.entries {
			m.remove(key, cache.Cleared)
		}
	case "All":
		got := harness.Collect(m.t, m.c)
		for key, e := range m.entries {
			if v, ok := got[key]; ok != e.live() || ok && v != e.value {
				fail(key, v, ok)
			}
			delete(got, key)
		}
		if len(got) > 0 {
			fail(got)
		}
	case "sleep":
		time.Sleep(op.d)
	case "sleep to a deadline":
		if live && !e.deadline.IsZero() {
			time.Sleep(time.Until(e.deadline) + time.Duration(op.key%3-1)) // and one nanosecond around it
		}
	}
}

func (m *model) compute(op modelOp, old int, live bool) {
	ops := map[string]cache.Op{"Compute OpSet": cache.OpSet, "Compute OpKeep": cache.OpKeep, "Compute OpDelete": cache.OpDelete}
	value := m.next
	got, ok := m.c.Compute(op.key, func(v int, found bool) (int, cache.Op) {
		if v != old || found != live {
			m.t.Errorf("%v: f got %d, %t; want %d, %t", op, v, found, old, live)
		}
		return value, ops[op.name]
	})
	want, present := old, live
	switch op.name {
	case "Compute OpSet":
		until := deadline(m.expire)
		if live {
			until = m.entries[op.key].deadline // which Compute keeps
		}
		m.storeUntil(op.key, until)
		want, present = value, true
	case "Compute OpDelete":
		m.remove(op.key, cache.Deleted)
		want, present = 0, false
	}
	if got != want || ok != present {
		m.t.Fatalf("%v = %d, %t; want %d, %t", op, got, ok, want, present)
	}
}

// deadline returns when a TTL of d ends, zero for never.
func deadline(d time.Duration) time.Time {
	if d == 0 {
		return time.Time{}
	}
	return time.Now().Add(d)
}

func (m *model) store(key int, ttl time.Duration) { m.storeUntil(key, deadline(ttl)) }

func (m *model) storeUntil(key int, end time.Time) {
	m.remove(key, cache.Replaced)
	m.entries[key] = modelEntry{key, m.next, end}
	m.next++
}

// remove notes that the entry must be reported: now if it is live, within a tick
// of its deadline if that has passed.
func (m *model) remove(key int, cause cache.Cause) {
	e, present := m.entries[key]
	if !present {
		return
	}
	delete(m.entries, key)
	if e.live() {
		m.due = append(m.due, timedEvent{cache.Event[int, int]{Key: key, Value: e.value, Cause: cause}, time.Now()})
	} else {
		m.expired[e.value] = e
	}
}

// settle waits for the callbacks and compares the events with what is due.
func (m *model) settle(when string) {
	synctest.Wait()
	m.mu.Lock()
	events := m.events
	m.events = nil
	m.mu.Unlock()
	for key, e := range m.entries {
		if !e.live() { // the driver may reclaim it from now on
			delete(m.entries, key)
			m.expired[e.value] = e
		}
	}
	for _, got := range events {
		m.counts[got.Cause]++
		if got.Value <= m.last[got.Key] {
			m.t.Fatalf("%s: event %+v after that of value %d", when, got, m.last[got.Key])
		}
		m.last[got.Key] = got.Value
		if i := slices.IndexFunc(m.due, func(d timedEvent) bool { return d.Event == got.Event }); i >= 0 {
			m.due = slices.Delete(m.due, i, i+1)
			continue
		}
		e, ok := m.expired[got.Value]
		late := got.at.Sub(e.deadline)
		if !ok || e.key != got.Key || got.Cause != cache.Expired || late < 0 || late > harness.MaxTick {
			m.t.Fatalf("%s: unexpected event %+v; entry %+v", when, got, e)
		}
		delete(m.expired, got.Value)
	}
	if len(m.due) > 0 {
		m.t.Fatalf("%s: not reported: %+v", when, m.due)
	}
	for _, e := range m.expired {
		if time.Since(e.deadline) > harness.MaxTick {
			m.t.Fatalf("%s: %+v not reported within a tick", when, e)
		}
	}
	if n := m.c.Len(); n < len(m.entries) || n > len(m.entries)+len(m.expired) {
		m.t.Fatalf("%s: Len = %d, want %d and at most %d expired ones", when, n, len(m.entries), len(m.expired))
	}
}
