package cache

import (
	"maps"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// TestSimpleModel compares caches without OnRemove, whose Clear drops the arrays, with a map of values
// and deadlines. Sets of most use overwrite. TestModel needs OnRemove, and so has no such cache.
func TestSimpleModel(t *testing.T) {
	options := []Options[int, int]{{}, {}, {}, {Limit: 1000}, {Limit: 1000, Policy: Adaptive}, {Idle: math.MaxInt64 / 2},
		{MaxWeight: 1000, Weigh: func(key, _ int) uint32 { return uint32(key % 4) }}} // all with room for all keys
	rapid.Check(t, func(t *rapid.T) {
		o := rapid.SampledFrom(options).Draw(t, "options")
		o.Expire = time.Hour
		rapid.SyncTest(t, func(t *rapid.T) {
			m := &plainModel{Must(o), map[int]modelEntry{}, 0, 0}
			t.Repeat(m.actions())
		})
	})
}

const simpleKeys = 200

type plainModel struct {
	*Cache[int, int]
	entries  map[int]modelEntry
	next     int // value
	replaced uint64
}

func (m *plainModel) actions() map[string]func(*rapid.T) {
	key := rapid.IntRange(0, simpleKeys-1)
	ttl := rapid.SampledFrom([]time.Duration{0, 300 * time.Millisecond, time.Second, time.Minute, 20 * time.Minute, time.Hour, 2 * time.Hour, 50 * time.Hour})
	return map[string]func(*rapid.T){
		"SetWithExpire": func(t *rapid.T) { m.set(key.Draw(t, "key"), ttl.Draw(t, "ttl")) },
		"Touch": func(t *rapid.T) {
			k, d := key.Draw(t, "key"), ttl.Draw(t, "ttl")
			if m.Touch(k, d) {
				m.entries[k] = entryFor(m.entries[k].value, d)
			}
		},
		"Del": func(t *rapid.T) { k := key.Draw(t, "key"); m.Del(k); delete(m.entries, k) },
		"fill": func(t *rapid.T) {
			from, d := key.Draw(t, "from"), ttl.Draw(t, "ttl")
			for k := from; k < simpleKeys; k++ {
				m.set(k, d)
			}
			time.Sleep(m.common.time.clock.PerTick) // another fill would use up the exact readings
			synctest.Wait()
		},
		"drain": func(t *rapid.T) {
			for k := key.Draw(t, "from"); k < simpleKeys; k++ {
				m.Del(k)
				delete(m.entries, k)
			}
		},
		"Clear": func(t *rapid.T) {
			live, before := uint64(len(maps.Collect(m.All()))), m.Stats().Removals
			m.Clear()
			clear(m.entries)
			s := m.Stats()
			if n := s.Removals.Cleared - before.Cleared; n != live || s.Expiry.Tombstones != 0 || slotsOf(m.Cache) > minSlots*len(m.common.table.Load().shards) {
				t.Fatalf("%d of %d cleared, %d tombstones and %d slots left", n, live, s.Expiry.Tombstones, slotsOf(m.Cache))
			}
		},
		"split": func(t *rapid.T) { m.splitInto(2) },
		"sleep": func(t *rapid.T) {
			// Also to between two ticks, when what has expired is still there.
			time.Sleep(ttl.Draw(t, "d") + rapid.SampledFrom([]time.Duration{0, 300 * time.Millisecond}).Draw(t, "more"))
			synctest.Wait()
		},
		"": func(t *rapid.T) {
			if err := m.check(); err != nil {
				t.Fatal(err)
			}
			late := 0 // what has expired since the last tick
			for k := range simpleKeys {
				e, ok := m.entries[k]
				if ok && !e.deadline.IsZero() && !time.Now().Before(e.deadline) {
					ok = false
					if time.Since(e.deadline) < m.common.time.clock.PerTick { // fake time
						late++
					} else {
						delete(m.entries, k)
					}
				}
				if v, found := m.Peek(k); found != ok || ok && v != e.value {
					t.Fatalf("Peek(%d) = %d, %v; want %d, %v", k, v, found, e.value, ok)
				}
			}
			if n := m.Len(); n > len(m.entries) || n < len(m.entries)-late {
				t.Fatalf("%d entries, want %d, of which %d may be gone", n, len(m.entries), late)
			}
			if got := m.Stats().Removals.Replaced; got != m.replaced {
				t.Fatalf("%d values were replaced, want %d", got, m.replaced)
			}
		},
	}
}

func (m *plainModel) set(key int, ttl time.Duration) {
	if _, ok := m.Peek(key); ok {
		m.replaced++
	}
	m.next++
	m.SetWithExpire(key, m.next, ttl)
	m.entries[key] = entryFor(m.next, ttl)
}

// entryFor returns an entry with a TTL that begins now.
func entryFor(value int, ttl time.Duration) modelEntry {
	e := modelEntry{value: value}
	if ttl > 0 {
		e.deadline = time.Now().Add(ttl)
	}
	return e
}
