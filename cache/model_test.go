package cache

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/hash"
	"pgregory.net/rapid"
)

// hashes are what the model is tested with, by the bits that are left of the
// cache's own hash: all of them, none, so that all keys go to one cell, and those
// that make two shards, tags and homes.
var hashes = map[string]uint64{
	"good":      1<<64 - 1,
	"constant":  0,
	"truncated": 1<<63 | 1<<8 | 1,
}

// TestModel compares a cache with a map of values and deadlines, on random operations, and
// checks the invariants after each.
func TestModel(t *testing.T) {
	for name, mask := range hashes {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { runModel(t, mask) })
		})
	}
}

func FuzzModel(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		name := rapid.SampledFrom(slices.Sorted(maps.Keys(hashes))).Draw(t, "hash")
		runModel(t, hashes[name])
	}))
}

type modelEntry struct {
	value    int
	deadline time.Time // by TTL; zero: never
	used     time.Time // from when on it is idle
}

// A modelCache is the naive cache, the real one, and what has left that.
type modelCache struct {
	*Cache[int, int]
	options Options[int, int]
	entries map[int]modelEntry
	events  []Event[int, int] // guarded by told.mu
	next    int               // value
	told    told
}

const modelKeys = 60

func runModel(t *rapid.T, mask uint64) {
	o := Options[int, int]{
		Limit:   rapid.SampledFrom([]int{0, 1, 2, 7, 16, 50}).Draw(t, "limit"),
		Expire:  rapid.SampledFrom([]time.Duration{0, 5 * time.Millisecond, time.Second}).Draw(t, "expire"),
		Idle:    rapid.SampledFrom([]time.Duration{0, 300 * time.Millisecond}).Draw(t, "idle"),
		Policy:  rapid.SampledFrom([]Policy{LRU, Adaptive}).Draw(t, "policy"),
		Workers: rapid.IntRange(1, 3).Draw(t, "workers"),
	}
	if o.Limit > 0 && rapid.Bool().Draw(t, "weighted") {
		o.MaxWeight, o.Limit = uint64(o.Limit), 0
		o.Weigh = func(_, value int) uint32 { return uint32(value % 4) }
	}
	if rapid.Bool().Draw(t, "watched") {
		o = withExtras(o)
	}
	rapid.SyncTest(t, func(t *rapid.T) {
		m := &modelCache{options: o, entries: map[int]modelEntry{}}
		o.OnRemove = func(e Event[int, int]) {
			m.told.note(t, e)
			m.told.mu.Lock()
			m.events = append(m.events, e)
			m.told.mu.Unlock()
		}
		m.Cache = Must(o)
		if mask != hashes["good"] {
			good := m.common.hasher
			m.common.hasher = hash.FromFunc(func(k int) uint64 { return good.Hash(k) & mask })
		}
		t.Repeat(m.actions())
		if err := m.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		m.settleEvents(t, -1, Cleared)
		if m.Len() != 0 || len(m.entries) != 0 {
			t.Fatalf("%d entries after Close, and %d in the model", m.Len(), len(m.entries))
		}
		m.told.check(t, m.Stats().Removals)
	})
}

func (m *modelCache) actions() map[string]func(*rapid.T) {
	key := rapid.IntRange(0, modelKeys-1)
	ttl := modelTTLs()
	orNegative := rapid.OneOf(ttl, ttl, rapid.Just(time.Duration(-1)))
	return map[string]func(*rapid.T){
		"Set": func(t *rapid.T) { m.set(t, key.Draw(t, "key"), m.options.Expire, m.Set) },
		"SetWithExpire": func(t *rapid.T) {
			k, d := key.Draw(t, "key"), orNegative.Draw(t, "ttl")
			if d < 0 {
				m.SetWithExpire(k, -1, d)
				m.settleEvents(t, k, Deleted)
				return
			}
			m.set(t, k, d, func(k, v int) { m.SetWithExpire(k, v, d) })
		},
		"Get": func(t *rapid.T) {
			k := key.Draw(t, "key")
			v, ok := m.Get(k)
			m.wantValue(t, "Get", k, v, ok)
			m.use(k)
		},
		"Get all": func(t *rapid.T) {
			for k := range modelKeys {
				v, ok := m.Get(k)
				m.wantValue(t, "Get", k, v, ok)
				m.use(k)
			}
		},
		"Peek": func(t *rapid.T) {
			k := key.Draw(t, "key")
			v, ok := m.Peek(k)
			m.wantValue(t, "Peek", k, v, ok)
		},
		"Touch": func(t *rapid.T) { m.touch(t, key.Draw(t, "key"), orNegative.Draw(t, "ttl")) },
		"Del": func(t *rapid.T) {
			k := key.Draw(t, "key")
			if got, want := m.Del(k), m.live(k); got != want {
				t.Fatalf("Del(%d) is %v, want %v", k, got, want)
			}
			m.settleEvents(t, k, Deleted)
		},
		"GetOrSet": func(t *rapid.T) {
			k := key.Draw(t, "key")
			if m.live(k) {
				v, loaded := m.GetOrSet(k, -1)
				m.wantValue(t, "GetOrSet", k, v, loaded)
				m.use(k)
				return
			}
			m.set(t, k, m.options.Expire, func(k, v int) {
				if got, loaded := m.GetOrSet(k, v); got != v || loaded {
					t.Fatalf("GetOrSet(%d, %d) = %d, %v", k, v, got, loaded)
				}
			})
		},
		"fill": func(t *rapid.T) {
			from := key.Draw(t, "from")
			for k := from; k < min(from+40, modelKeys); k++ {
				m.set(t, k, m.options.Expire, m.Set)
			}
		},
		"drain": func(t *rapid.T) {
			for k := key.Draw(t, "from"); k < modelKeys; k++ {
				m.Del(k)
				m.settleEvents(t, k, Deleted)
			}
		},
		"Take": func(t *rapid.T) { m.take(t, key.Draw(t, "key"), rapid.Bool().Draw(t, "fails")) },
		"TakeMany": func(t *rapid.T) {
			m.takeMany(t, rapid.SliceOfN(key, 0, 10).Draw(t, "keys"), rapid.Bool().Draw(t, "fails"))
		},
		"Compute": func(t *rapid.T) { m.compute(t, key.Draw(t, "key"), Op(rapid.IntRange(0, 2).Draw(t, "op")), nil) },
		"ComputeWithExpire": func(t *rapid.T) {
			d := ttl.Draw(t, "ttl")
			m.compute(t, key.Draw(t, "key"), Op(rapid.IntRange(0, 2).Draw(t, "op")), &d)
		},
		"Clear":  func(t *rapid.T) { m.Clear(); m.settleEvents(t, -1, Cleared) },
		"Resize": func(t *rapid.T) { m.resize(t, rapid.SampledFrom([]int{0, 1, 3, 10, 100}).Draw(t, "limit")) },
		"sleep": func(t *rapid.T) {
			time.Sleep(rapid.SampledFrom([]time.Duration{1, time.Millisecond, 99 * time.Millisecond, 200 * time.Millisecond, time.Second, time.Minute}).Draw(t, "d"))
			m.settleEvents(t, -1, Expired)
		},
		"sleep to a deadline": func(t *rapid.T) { m.sleepTo(t, key.Draw(t, "key")) },
		"split half":          func(t *rapid.T) { m.divideHalf() },
		"split":               func(t *rapid.T) { m.splitInto(rapid.SampledFrom([]int{2, 4, 32}).Draw(t, "shards")) },
		"":                    m.checkAll,
	}
}

// live reports whether the model has a value for the key now.
func (m *modelCache) live(key int) bool {
	e, ok := m.entries[key]
	return ok && !m.expired(e)
}

func (m *modelCache) expired(e modelEntry) bool {
	end, ok := m.end(e)
	return ok && !time.Now().Before(end)
}

// end returns the deadline of an entry, and false if it has none.
func (m *modelCache) end(e modelEntry) (end time.Time, ok bool) {
	end, ok = e.deadline, !e.deadline.IsZero()
	if m.options.Idle > 0 {
		if idle := e.used.Add(m.options.Idle); !ok || idle.Before(end) {
			end, ok = idle, true
		}
	}
	return end, ok
}

func (m *modelCache) wantValue(t *rapid.T, op string, key, value int, ok bool) {
	want, live := m.entries[key].value, m.live(key)
	if ok != live || ok && value != want {
		t.Fatalf("%s(%d) = %d, %v; want %d, %v", op, key, value, ok, want, live)
	}
}

// use notes that a live entry was read.
func (m *modelCache) use(key int) {
	if m.live(key) {
		e := m.entries[key]
		e.used = time.Now()
		m.entries[key] = e
	}
}

// set stores a new value by store, in the model too.
func (m *modelCache) set(t *rapid.T, key int, ttl time.Duration, store func(key, value int)) {
	var deadline time.Time
	if ttl > 0 {
		deadline = time.Now().Add(ttl)
	}
	m.setUntil(t, key, deadline, store)
}

// setUntil is set with a deadline.
func (m *modelCache) setUntil(t *rapid.T, key int, deadline time.Time, store func(key, value int)) {
	m.next++
	store(key, m.next)
	m.settleEvents(t, key, Replaced)
	if old, ok := m.entries[key]; ok {
		t.Fatalf("%d was not reported when value %d of key %d replaced it", old.value, m.next, key)
	}
	m.entries[key] = modelEntry{value: m.next, used: time.Now(), deadline: deadline}
	if m.tooHeavy(key, m.next) {
		delete(m.entries, key)
	}
}

// tooHeavy reports whether a value is not to be kept.
func (m *modelCache) tooHeavy(key, value int) bool {
	return m.options.Weigh != nil && uint64(m.options.Weigh(key, value)) > m.options.MaxWeight
}

func (m *modelCache) touch(t *rapid.T, key int, ttl time.Duration) {
	live := m.live(key)
	if got := m.Touch(key, ttl); got != live {
		t.Fatalf("Touch(%d, %v) is %v, want %v", key, ttl, got, live)
	}
	if !live {
		return
	}
	if ttl < 0 {
		m.settleEvents(t, key, Deleted)
		return
	}
	e := m.entries[key]
	e.used, e.deadline = time.Now(), time.Time{}
	if ttl > 0 {
		e.deadline = time.Now().Add(ttl)
	}
	m.entries[key] = e
}

func (m *modelCache) take(t *rapid.T, key int, fails bool) {
	failed := errors.New("failed")
	if m.live(key) {
		v, err := m.Take(key, func() (int, error) { t.Fatal("fetched"); return 0, nil })
		m.wantValue(t, "Take", key, v, err == nil)
		m.use(key)
		return
	}
	if fails {
		if v, err := m.Take(key, func() (int, error) { return 7, failed }); err != failed || v != 7 {
			t.Fatalf("Take(%d) = %d, %v", key, v, err)
		}
		return
	}
	m.set(t, key, m.options.Expire, func(key, value int) {
		if v, err := m.Take(key, func() (int, error) { return value, nil }); v != value || err != nil {
			t.Fatalf("Take(%d) = %d, %v", key, v, err)
		}
	})
}

// takeMany takes keys of which those divisible by three have no value.
func (m *modelCache) takeMany(t *rapid.T, keys []int, fails bool) {
	failed := errors.New("failed")
	want := map[int]int{}
	var missing []int
	for _, key := range keys {
		if m.live(key) {
			want[key] = m.entries[key].value
			m.use(key)
		} else if !slices.Contains(missing, key) {
			missing = append(missing, key)
		}
	}
	values := map[int]int{}
	got, err := m.TakeMany(context.Background(), keys, func(_ context.Context, keys []int) (map[int]int, error) {
		if !slices.Equal(keys, missing) {
			t.Fatalf("fetch of %v, want %v", keys, missing)
		}
		for _, key := range keys {
			if key%3 != 0 {
				m.next++
				values[key] = m.next
			}
		}
		if fails {
			return values, failed
		}
		return values, nil
	})
	if fails && len(missing) > 0 {
		clear(values)
	} else {
		failed = nil
	}
	maps.Copy(want, values)
	if !maps.Equal(got, want) || err != failed {
		t.Fatalf("TakeMany(%v) = %v, %v; want %v, %v", keys, got, err, want, failed)
	}
	var deadline time.Time
	if m.options.Expire > 0 {
		deadline = time.Now().Add(m.options.Expire)
	}
	var own []Event[int, int] // of what was stored and evicted again
	others := slices.DeleteFunc(m.takeEvents(), func(e Event[int, int]) bool {
		if values[e.Key] == e.Value {
			own = append(own, e)
		}
		return values[e.Key] == e.Value
	})
	m.settle(t, others, -1, Evicted)
	for key, value := range values {
		if !m.tooHeavy(key, value) {
			m.entries[key] = modelEntry{value: value, used: time.Now(), deadline: deadline}
		}
	}
	m.settle(t, own, -1, Evicted)
}

// compute computes with a TTL, or with none so that a key that has a deadline keeps it.
func (m *modelCache) compute(t *rapid.T, key int, op Op, ttl *time.Duration) {
	run := func(value int) (int, bool) {
		f := func(old int, found bool) (int, Op) {
			m.wantValue(t, "Compute", key, old, found)
			return value, op
		}
		if ttl != nil {
			return m.ComputeWithExpire(key, *ttl, f)
		}
		return m.Compute(key, f)
	}
	switch op {
	case OpKeep:
		v, ok := run(-1)
		m.wantValue(t, "Compute", key, v, ok)
	case OpDelete:
		if v, ok := run(-1); ok || v != 0 {
			t.Fatalf("Compute(%d) = %d, %v after OpDelete", key, v, ok)
		}
		m.settleEvents(t, key, Deleted)
	case OpSet:
		var deadline time.Time
		switch {
		case ttl != nil && *ttl > 0:
			deadline = time.Now().Add(*ttl)
		case ttl == nil && m.live(key):
			deadline = m.entries[key].deadline
		case ttl == nil && m.options.Expire > 0:
			deadline = time.Now().Add(m.options.Expire)
		}
		m.setUntil(t, key, deadline, func(_, value int) {
			kept := !m.tooHeavy(key, value)
			if v, ok := run(value); ok != kept || ok && v != value {
				t.Fatalf("Compute(%d) = %d, %v; want %d, %v", key, v, ok, value, kept)
			}
		})
	}
}

func (m *modelCache) resize(t *rapid.T, limit int) {
	if m.options.Weigh != nil {
		return
	}
	if err := m.Resize(limit); err != nil {
		t.Fatal(err)
	}
	m.options.Limit = limit
	m.settleEvents(t, -1, Evicted)
}

// takeEvents returns what OnRemove was told since the last call, once all calls have ended.
func (m *modelCache) takeEvents() []Event[int, int] {
	synctest.Wait()
	m.told.mu.Lock()
	defer m.told.mu.Unlock()
	events := m.events
	m.events = nil
	return events
}

// settleEvents is settle of what OnRemove was told since the last call.
func (m *modelCache) settleEvents(t *rapid.T, key int, cause Cause) {
	m.settle(t, m.takeEvents(), key, cause)
}

// settle takes what was removed out of the model. An operation on a key may remove
// that for the given cause, and one with key -1 any; besides, what has expired may be
// removed as such, and any entry evicted if there is a limit.
func (m *modelCache) settle(t *rapid.T, events []Event[int, int], key int, cause Cause) {
	for _, e := range events {
		had, ok := m.entries[e.Key]
		if e.Cause == Evicted && m.tooHeavy(e.Key, e.Value) {
			continue
		}
		if !ok || had.value != e.Value {
			t.Fatalf("%+v was removed, which is not in the model: %+v", e, had)
		}
		switch {
		case m.expired(had) != (e.Cause == Expired):
			t.Fatalf("%+v: expired is %v", e, m.expired(had))
		case e.Cause == Expired:
		case e.Cause == Evicted && (m.options.Limit > 0 || m.options.Weigh != nil && m.options.Weigh(e.Key, e.Value) > 0):
		case e.Cause == cause && (key == -1 || key == e.Key):
		default:
			t.Fatalf("%+v, want %v of %d", e, cause, key)
		}
		delete(m.entries, e.Key)
	}
}

// checkAll compares the whole contents.
func (m *modelCache) checkAll(t *rapid.T) {
	if min(m.common.time.clock.stores.left.Load(), m.common.time.clock.idleness.left.Load()) < readingsPerTick/2 {
		time.Sleep(m.common.time.tick) // a deadline of a busy cache may be early
	}
	m.settleEvents(t, -1, Expired)
	if err := m.check(); err != nil {
		t.Fatal(err)
	}
	got := maps.Collect(m.All())
	want := map[int]int{}
	for k, e := range m.entries {
		if !m.expired(e) {
			want[k] = e.value
		} else if end, _ := m.end(e); time.Since(end) >= m.common.time.tick { // fake time
			t.Fatalf("%d expired at %v and is still there, at %v", k, end, time.Now())
		}
	}
	if !maps.Equal(got, want) {
		t.Fatalf("the cache has %v, want %v", got, want)
	}
	if m.Len() != len(m.entries) {
		t.Fatalf("Len is %d, want %d", m.Len(), len(m.entries))
	}
	if m.options.Limit > 0 && m.Len() > m.options.Limit {
		t.Fatalf("Len is %d, the limit %d", m.Len(), m.options.Limit)
	}
}
