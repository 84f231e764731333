package cache

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache/internal/clock"
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

// A removal is an event, and when OnRemove was told of it.
type removal struct {
	Event[int, int]
	at time.Time
}

// A modelCache is the naive cache, the real one, and what has left that.
type modelCache struct {
	*Cache[int, int]
	options Options[int, int]
	entries map[int]modelEntry
	events  []removal // guarded by told.mu
	next    int       // value
	near    int       // the key of all operations now, which is at its deadline, or -1
	told    told

	bypassed bool
	tunes    uint64 // that changed something

	hits, misses, sets, loads, failed uint64

	load     func(l *Load[int]) (int, error)                   // of Load
	loadMany func(context.Context, []int) (map[int]int, error) // of LoadMany
}

const modelKeys = 60

func runModel(t *rapid.T, mask uint64) {
	o := Options[int, int]{
		Limit:   rapid.SampledFrom([]int{0, 1, 2, 7, 16, 50}).Draw(t, "limit"),
		Expire:  rapid.SampledFrom([]time.Duration{0, 5 * time.Millisecond, time.Second, time.Hour}).Draw(t, "expire"),
		Idle:    rapid.SampledFrom([]time.Duration{0, 300 * time.Millisecond, 5 * time.Minute}).Draw(t, "idle"),
		Policy:  rapid.SampledFrom([]Policy{LRU, Adaptive}).Draw(t, "policy"),
		Workers: rapid.IntRange(1, 3).Draw(t, "workers"),
	}
	if o.Limit > 0 && rapid.Bool().Draw(t, "weighted") {
		o.MaxWeight, o.Limit = uint64(o.Limit), rapid.SampledFrom([]int{0, 1, 5}).Draw(t, "entries")
		o.Weigh = func(_, value int) uint32 { return uint32(value % 4) }
	}
	if rapid.Bool().Draw(t, "watched") {
		o = WithExtras(o)
	}
	rapid.SyncTest(t, func(t *rapid.T) {
		m := &modelCache{options: o, entries: map[int]modelEntry{}, near: -1}
		o.OnRemove = func(e Event[int, int]) {
			m.told.note(t, e)
			m.told.mu.Lock()
			m.events = append(m.events, removal{e, time.Now()})
			m.told.mu.Unlock()
		}
		o.Load = func(_ context.Context, _ int, l *Load[int]) (int, error) { return m.load(l) }
		o.LoadMany = func(ctx context.Context, keys []int, _ []*Load[int]) (map[int]int, error) {
			return m.loadMany(ctx, keys)
		}
		m.Cache = Must(o)
		time.Sleep(123_456 * time.Nanosecond) // so that few deadlines are on a tick
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
		m.checkStats(t)
	})
}

func (m *modelCache) actions() map[string]func(*rapid.T) {
	key := rapid.Map(rapid.IntRange(0, modelKeys-1), func(k int) int {
		if m.near >= 0 {
			return m.near
		}
		return k
	})
	ttl := modelTTLs(m.common.time.clock.PerTick)
	orNegative := rapid.OneOf(ttl, ttl, rapid.Just(time.Duration(-1)))
	ofOneKey := rapid.SampledFrom([]string{"Set", "SetWithExpire", "Get", "Peek", "Touch", "Del", "GetAndDel", "Swap", "GetOrSet",
		"GetOrSetWithExpire", "Take", "TakeWith", "Base.Take", "TakeMany", "Fetch", "FetchMany", "Refresh", "TakeEntry", "Compute", "ComputeWithExpire", "ComputeEntry"})
	var all map[string]func(*rapid.T)
	all = map[string]func(*rapid.T){
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
			m.got(t, "Get", k, v, ok)
		},
		"Get all": func(t *rapid.T) {
			for k := range modelKeys {
				v, ok := m.Get(k)
				m.got(t, "Get", k, v, ok)
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
		"GetAndDel": func(t *rapid.T) {
			k := key.Draw(t, "key")
			v, ok := m.GetAndDel(k)
			m.wantValue(t, "GetAndDel", k, v, ok)
			m.settleEvents(t, k, Deleted)
		},
		"DelFunc": func(t *rapid.T) {
			third, want := rapid.IntRange(0, 2).Draw(t, "third"), 0
			for k := third; k < modelKeys; k += 3 {
				if m.live(k) {
					want++
				}
			}
			if n := m.DelFunc(func(k, _ int) bool { return k%3 == third }); n != want {
				t.Fatalf("DelFunc removed %d, want %d", n, want)
			}
			m.settleEvents(t, -1, Deleted)
		},
		"Swap": func(t *rapid.T) {
			m.set(t, key.Draw(t, "key"), m.options.Expire, func(k, v int) {
				had, ok := m.Swap(k, v)
				m.wantValue(t, "Swap", k, had, ok)
			})
		},
		"GetOrSet": func(t *rapid.T) { m.getOrSet(t, key.Draw(t, "key"), m.options.Expire, m.GetOrSet) },
		"GetOrSetWithExpire": func(t *rapid.T) {
			d := orNegative.Draw(t, "ttl")
			m.getOrSet(t, key.Draw(t, "key"), d, func(k, v int) (int, bool) { return m.GetOrSetWithExpire(k, v, d) })
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
		"Take": func(t *rapid.T) {
			take := m.Take
			if rapid.Bool().Draw(t, "context") {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				take = func(key int, fetch func() (int, error)) (int, error) {
					return m.TakeCtx(ctx, key, func(context.Context) (int, error) { return fetch() })
				}
			}
			m.take(t, key.Draw(t, "key"), m.options.Expire, rapid.Bool().Draw(t, "fails"), take)
		},
		"TakeWith": func(t *rapid.T) {
			d := orNegative.Draw(t, "ttl")
			m.take(t, key.Draw(t, "key"), d, rapid.Bool().Draw(t, "fails"), m.takeWith(t, m.Cache.TakeWith, d))
		},
		"Base.Take": func(t *rapid.T) {
			k, d := key.Draw(t, "key"), orNegative.Draw(t, "ttl")
			if m.live(k) { // a hit, and who calls it has counted a miss
				m.hits--
			} else {
				m.misses--
			}
			m.take(t, k, d, rapid.Bool().Draw(t, "fails"), m.takeWith(t, For(m.Cache).Take, d))
		},
		"TakeMany": func(t *rapid.T) {
			m.takeMany(t, rapid.SliceOfN(key, 0, 10).Draw(t, "keys"), rapid.Bool().Draw(t, "fails"), m.TakeMany)
		},
		"Fetch": func(t *rapid.T) {
			d := orNegative.Draw(t, "ttl")
			m.take(t, key.Draw(t, "key"), d, rapid.Bool().Draw(t, "fails"), func(key int, fetch func() (int, error)) (int, error) {
				m.load = func(l *Load[int]) (int, error) { l.Expire = d; return fetch() }
				return m.Fetch(context.Background(), key)
			})
		},
		"FetchMany": func(t *rapid.T) {
			m.takeMany(t, rapid.SliceOfN(key, 0, 10).Draw(t, "keys"), rapid.Bool().Draw(t, "fails"), func(ctx context.Context, keys []int, load func(context.Context, []int) (map[int]int, error)) (map[int]int, error) {
				m.loadMany = load
				return m.FetchMany(ctx, keys)
			})
		},
		"TakeEntry": func(t *rapid.T) {
			terms := rapid.SampledFrom([]Terms{{}, Within(0), {NoStore: true}, {NoOld: true}}).Draw(t, "terms")
			m.takeEntry(t, key.Draw(t, "key"), terms, rapid.Bool().Draw(t, "fails"))
		},
		"Refresh": func(t *rapid.T) { m.refresh(t, key.Draw(t, "key"), rapid.Bool().Draw(t, "fails")) },
		"Compute": func(t *rapid.T) { m.compute(t, key.Draw(t, "key"), Op(rapid.IntRange(0, 2).Draw(t, "op")), nil, true) },
		"ComputeWithExpire": func(t *rapid.T) {
			d := orNegative.Draw(t, "ttl")
			m.compute(t, key.Draw(t, "key"), Op(rapid.IntRange(0, 2).Draw(t, "op")), &d, false)
		},
		"ComputeEntry": func(t *rapid.T) {
			d := orNegative.Draw(t, "ttl")
			m.compute(t, key.Draw(t, "key"), Op(rapid.IntRange(0, 2).Draw(t, "op")), &d, true)
		},
		"Tune": func(t *rapid.T) {
			m.tune(t, Tuning{
				Expire:   rapid.SampledFrom([]time.Duration{0, time.Millisecond, 5 * time.Millisecond, time.Second, time.Hour}).Draw(t, "expire"),
				MaxLoads: rapid.IntRange(0, 2).Draw(t, "loads"),
				Bypass:   rapid.IntRange(0, 3).Draw(t, "bypass") == 0,
			})
		},
		"Clear":  func(t *rapid.T) { m.Clear(); m.settleEvents(t, -1, Cleared) },
		"Resize": func(t *rapid.T) { m.resize(t, rapid.SampledFrom([]int{0, 1, 3, 10, 100}).Draw(t, "limit")) },
		"sleep": func(t *rapid.T) {
			time.Sleep(rapid.SampledFrom([]time.Duration{1, time.Millisecond, 99 * time.Millisecond, 200 * time.Millisecond, time.Second, time.Minute}).Draw(t, "d"))
			m.settleEvents(t, -1, Expired)
		},
		"at a deadline": func(t *rapid.T) {
			m.near = m.sleepTo(t, key.Draw(t, "key"))
			all[ofOneKey.Draw(t, "then")](t)
			m.near = -1
		},
		"split half": func(t *rapid.T) { m.divideHalf() },
		"split": func(t *rapid.T) {
			before := m.Stats()
			m.splitInto(rapid.SampledFrom([]int{2, 4, 32}).Draw(t, "shards"))
			after := m.Stats()
			before.Expiry.Tombstones, after.Expiry.Tombstones = 0, 0 // they go
			if after != before {
				t.Fatalf("after a split:\n%+v, before:\n%+v", after, before)
			}
		},
		"": m.checkAll,
	}
	return all
}

// live reports whether the model has a value for the key now.
func (m *modelCache) live(key int) bool {
	e, ok := m.entries[key]
	return ok && !m.expired(e)
}

func (m *modelCache) expired(e modelEntry) bool { return m.expiredAt(e, time.Now()) }

func (m *modelCache) expiredAt(e modelEntry, at time.Time) bool {
	end, ok := m.end(e)
	return ok && !at.Before(end)
}

// left returns how long an entry that lives has left.
func (m *modelCache) left(e modelEntry) time.Duration {
	if end, ok := m.end(e); ok {
		return time.Until(end)
	}
	return math.MaxInt64
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
	if !live {
		want = 0
	}
	if ok != live || value != want {
		t.Fatalf("%s(%d) = %d, %v; want %d, %v", op, key, value, ok, want, live)
	}
}

// got is wantValue of an operation that counts as a hit or a miss, and uses the entry.
func (m *modelCache) got(t *rapid.T, op string, key, value int, ok bool) {
	m.wantValue(t, op, key, value, ok)
	if ok {
		m.hits++
	} else {
		m.misses++
	}
	m.use(key)
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
	if m.bypassed {
		return
	}
	m.sets++
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

func (m *modelCache) getOrSet(t *rapid.T, key int, ttl time.Duration, getOrSet func(key, value int) (int, bool)) {
	if m.live(key) {
		v, loaded := getOrSet(key, -1)
		m.got(t, "GetOrSet", key, v, loaded)
		return
	}
	m.misses++
	store := func(key, value int) {
		if v, loaded := getOrSet(key, value); v != value || loaded {
			t.Fatalf("GetOrSet(%d, %d) = %d, %v", key, value, v, loaded)
		}
	}
	if ttl < 0 {
		store(key, -1)
		return
	}
	m.set(t, key, ttl, store)
}

// takeWith is a Take by TakeWith or For(c).Take whose fetch chooses a TTL.
func (m *modelCache) takeWith(t *rapid.T, take func(context.Context, int, func(context.Context, *Load[int]) (int, error)) (int, error), ttl time.Duration) func(int, func() (int, error)) (int, error) {
	return func(key int, fetch func() (int, error)) (int, error) {
		return take(context.Background(), key, func(_ context.Context, l *Load[int]) (int, error) {
			if l.Expire != m.options.Expire || l.HasOld || l.Old != 0 {
				t.Fatalf("the load is told %+v", *l)
			}
			l.Expire = ttl
			return fetch()
		})
	}
}

// take takes a key by a Take whose values get a TTL.
func (m *modelCache) take(t *rapid.T, key int, ttl time.Duration, fails bool, take func(int, func() (int, error)) (int, error)) {
	failed := errors.New("failed")
	if m.live(key) {
		v, err := take(key, func() (int, error) { t.Fatal("fetched"); return 0, nil })
		m.got(t, "Take", key, v, err == nil)
		return
	}
	m.misses++
	if fails {
		m.failed++
		if v, err := take(key, func() (int, error) { return 7, failed }); err != failed || v != 7 {
			t.Fatalf("Take(%d) = %d, %v", key, v, err)
		}
		return
	}
	m.loads++
	load := func(key, value int) {
		if v, err := take(key, func() (int, error) { return value, nil }); v != value || err != nil {
			t.Fatalf("Take(%d) = %d, %v", key, v, err)
		}
	}
	if ttl < 0 {
		load(key, -1)
		return
	}
	m.set(t, key, ttl, load)
}

// takeEntry takes a key on terms.
func (m *modelCache) takeEntry(t *rapid.T, key int, terms Terms, fails bool) {
	take := func(key int, fetch func() (int, error)) (int, error) {
		e, err := m.TakeEntry(context.Background(), key, terms, func(context.Context, *Load[int]) (int, error) { return fetch() })
		has := m.entries[key]
		has.used = time.Now()
		if err == nil && m.live(key) && has.value == e.Value && e.TTL != m.left(has) {
			t.Fatalf("TakeEntry(%d) = %+v, %v are left", key, e, m.left(has))
		}
		return e.Value, err
	}
	failed := errors.New("failed")
	switch {
	case !terms.bounded && (m.live(key) || !terms.NoStore):
		m.take(t, key, m.options.Expire, fails, func(key int, fetch func() (int, error)) (int, error) {
			v, err := take(key, fetch)
			if err != nil {
				v = 7
			}
			return v, err
		})
	case fails:
		m.misses++
		m.failed++
		if v, err := take(key, func() (int, error) { return 7, failed }); err != failed || v != 0 {
			t.Fatalf("TakeEntry(%d) = %d, %v", key, v, err)
		}
	case terms.NoStore:
		m.misses++
		m.loads++
		if v, err := take(key, func() (int, error) { return -1, nil }); err != nil || v != -1 {
			t.Fatalf("TakeEntry(%d) = %d, %v", key, v, err)
		}
	default:
		m.misses++
		m.loads++
		m.set(t, key, m.options.Expire, func(key, value int) {
			if v, err := take(key, func() (int, error) { return value, nil }); v != value || err != nil {
				t.Fatalf("TakeEntry(%d) = %d, %v", key, v, err)
			}
		})
	}
}

// refresh loads a key again.
func (m *modelCache) refresh(t *rapid.T, key int, fails bool) {
	failed := errors.New("failed")
	load := func(key, value int) {
		m.loadMany = func(context.Context, []int) (map[int]int, error) {
			if fails {
				return nil, failed
			}
			return map[int]int{key: value}, nil
		}
		if err := m.Refresh(context.Background(), key); fails && err != failed || !fails && err != nil {
			t.Fatalf("Refresh(%d) = %v", key, err)
		}
	}
	if fails {
		m.failed++
		load(key, 0)
		return
	}
	m.loads++
	m.set(t, key, m.options.Expire, load)
}

// takeMany takes keys of which those divisible by three have no value.
func (m *modelCache) takeMany(t *rapid.T, keys []int, fails bool, take func(context.Context, []int, func(context.Context, []int) (map[int]int, error)) (map[int]int, error)) {
	failed := errors.New("failed")
	want := map[int]int{}
	var missing []int
	for _, key := range keys {
		if _, seen := want[key]; !seen && m.live(key) {
			want[key] = m.entries[key].value
			m.got(t, "TakeMany", key, want[key], true)
		} else if !seen && !slices.Contains(missing, key) {
			missing = append(missing, key)
			m.misses++
		}
	}
	values := map[int]int{}
	got, err := take(context.Background(), keys, func(_ context.Context, keys []int) (map[int]int, error) {
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
	switch {
	case len(missing) == 0:
		failed = nil
	case fails:
		m.failed++
		clear(values)
	default:
		m.loads++
		failed = nil
	}
	maps.Copy(want, values)
	if !maps.Equal(got, want) || err != failed {
		t.Fatalf("TakeMany(%v) = %v, %v; want %v, %v", keys, got, err, want, failed)
	}
	if m.bypassed {
		return
	}
	m.sets += uint64(len(values))
	var deadline time.Time
	if m.options.Expire > 0 {
		deadline = time.Now().Add(m.options.Expire)
	}
	var own []removal // of what was stored and evicted again
	others := slices.DeleteFunc(m.takeEvents(), func(e removal) bool {
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

// compute computes with a TTL, or with that of the options if it is nil. If keeps, a key that has a
// deadline keeps it.
func (m *modelCache) compute(t *rapid.T, key int, op Op, ttl *time.Duration, keeps bool) {
	keep := keeps
	keeps = keeps && m.live(key)
	run := func(value int) (int, bool) {
		f := func(old int, found bool) (int, Op) {
			m.wantValue(t, "Compute", key, old, found)
			return value, op
		}
		if ttl != nil && keep {
			e, ok := m.ComputeEntry(key, *ttl, f)
			return e.Value, ok
		}
		if ttl != nil {
			return m.ComputeWithExpire(key, *ttl, f)
		}
		return m.Compute(key, f)
	}
	switch {
	case op == OpKeep:
		v, ok := run(-1)
		m.wantValue(t, "Compute", key, v, ok)
	case op == OpDelete, ttl != nil && *ttl < 0 && !keeps:
		if v, ok := run(-1); ok || v != 0 {
			t.Fatalf("Compute(%d) = %d, %v after OpDelete", key, v, ok)
		}
		m.settleEvents(t, key, Deleted)
	default:
		var deadline time.Time
		switch {
		case keeps:
			deadline = m.entries[key].deadline
		case ttl != nil && *ttl > 0:
			deadline = time.Now().Add(*ttl)
		case ttl == nil && m.options.Expire > 0:
			deadline = time.Now().Add(m.options.Expire)
		}
		m.setUntil(t, key, deadline, func(_, value int) {
			kept := !m.tooHeavy(key, value) && !m.bypassed
			if v, ok := run(value); ok != kept || ok && v != value {
				t.Fatalf("Compute(%d) = %d, %v; want %d, %v", key, v, ok, value, kept)
			}
		})
	}
}

// tune changes options.
func (m *modelCache) tune(t *rapid.T, to Tuning) {
	if before := m.tuning(); before != to {
		m.tunes++
	}
	if got, err := m.Tune(func(is *Tuning) { *is = to }); got != to || err != nil || m.tuned() != m.tunes {
		t.Fatalf("Tune to %+v returns %+v, %v, and counts %d changes, want %d", to, got, err, m.tuned(), m.tunes)
	}
	m.settleEvents(t, -1, map[bool]Cause{true: Cleared, false: Expired}[to.Bypass && !m.bypassed])
	if m.bypassed, m.options.Expire = to.Bypass, to.Expire; to.Bypass && len(m.entries) > 0 {
		t.Fatalf("%d entries are left", len(m.entries))
	}
}

func (m *modelCache) resize(t *rapid.T, limit int) {
	resize := func() error { return m.Resize(limit) }
	if both := m.options.Weigh != nil && m.options.Limit > 0; m.options.Weigh == nil || both && rapid.Bool().Draw(t, "entries") {
		if both {
			limit = max(limit, 1) // so that it goes on having both
			resize = func() error { return m.Resize(limit) }
		}
		m.options.Limit = limit
	} else {
		m.options.MaxWeight = uint64(max(limit, 1))
		resize = func() error { return m.ResizeWeight(m.options.MaxWeight) }
	}
	if err := resize(); err != nil {
		t.Fatal(err)
	}
	m.settleEvents(t, -1, Evicted)
}

// takeEvents returns what OnRemove was told since the last call, once all calls have ended.
func (m *modelCache) takeEvents() []removal {
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
func (m *modelCache) settle(t *rapid.T, events []removal, key int, cause Cause) {
	for _, e := range events {
		had, ok := m.entries[e.Key]
		if ok = ok && had.value == e.Value; !ok && e.Cause == Evicted && m.tooHeavy(e.Key, e.Value) {
			continue
		}
		if !ok {
			t.Fatalf("%+v was removed, which is not in the model: %+v", e, had)
		}
		switch end, _ := m.end(had); {
		case m.expiredAt(had, e.at) != (e.Cause == Expired):
			t.Fatalf("%+v: expired is %v", e, m.expiredAt(had, e.at))
		case e.Cause == Expired && e.at.Sub(end) >= m.common.time.clock.PerTick:
			t.Fatalf("%+v: the end was at %v", e, end)
		case e.Cause == Expired:
		case e.Cause == Evicted && (m.options.Limit > 0 || m.options.Weigh != nil):
		case e.Cause == cause && (key == -1 || key == e.Key):
		default:
			t.Fatalf("%+v, want %v of %d", e, cause, key)
		}
		delete(m.entries, e.Key)
	}
}

// checkAll compares the whole contents.
func (m *modelCache) checkAll(t *rapid.T) {
	if min(m.common.time.clock.Stores.Left(), m.common.time.clock.Idleness.Left()) < clock.ReadingsPerTick/2 {
		time.Sleep(m.common.time.clock.PerTick) // a deadline of a busy cache may be early
	}
	m.settleEvents(t, -1, Expired)
	if err := m.check(); err != nil {
		t.Fatal(err)
	}
	got, want, all := maps.Collect(m.All()), map[int]int{}, map[int]Entry[int, int]{}
	for e := range m.Entries() {
		all[e.Key] = e
	}
	for k, e := range m.entries {
		if !m.expired(e) {
			want[k] = e.value
			found, ok := m.Entry(k)
			if found != all[k] || !ok || found.Key != k || found.Value != e.value || found.TTL != m.left(e) || found.Due || found.InGrace {
				t.Fatalf("Entry = %+v, %v, and Entries %+v; want %d with %v left", found, ok, all[k], e.value, m.left(e))
			}
		} else if end, _ := m.end(e); time.Since(end) >= m.common.time.clock.PerTick { // fake time
			t.Fatalf("%d expired at %v and is still there, at %v", k, end, time.Now())
		}
	}
	if !maps.Equal(got, want) || len(all) != len(want) {
		t.Fatalf("the cache has %v, and %v, want %v", got, all, want)
	}
	if m.options.Limit > 0 && m.Len() > m.options.Limit {
		t.Fatalf("Len is %d, the limit %d", m.Len(), m.options.Limit)
	}
	m.checkStats(t)
}

// checkStats compares the statistics with what was done and with what is there.
func (m *modelCache) checkStats(t *rapid.T) {
	s := m.Stats()
	m.told.check(t, s.Removals)
	weight, pending := uint64(0), 0
	for k, e := range m.entries {
		if m.options.Weigh != nil {
			weight += uint64(max(m.options.Weigh(k, e.value), 1))
		}
		if _, ok := m.end(e); ok {
			pending++
		}
	}
	if s.Hits != m.hits || s.Misses != m.misses || s.Sets != m.sets {
		t.Fatalf("%d hits, %d misses, %d sets; want %d, %d, %d", s.Hits, s.Misses, s.Sets, m.hits, m.misses, m.sets)
	}
	if ok, failed := s.Loads.OK.Count(), s.Loads.Failed.Count(); ok != m.loads || failed != m.failed {
		t.Fatalf("%d loads, and %d failed; want %d and %d", ok, failed, m.loads, m.failed)
	}
	if hot := m.HotKeys(); hot != nil && m.options.HotKeys == 0 {
		t.Fatalf("hot keys are %v, without the option", hot)
	}
	if n := len(m.entries); m.Len() != n || s.Entries != n || s.Expiry.Pending != pending || s.Weight != weight || s.MaxWeight != m.options.MaxWeight {
		t.Fatalf("Len %d, %d entries that weigh %d, %d wait to expire; want %d, %d, %d", m.Len(), s.Entries, s.Weight, s.Expiry.Pending, n, weight, pending)
	}
}
