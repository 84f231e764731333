package cache

import (
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// TestSimpleModel compares a simple cache, whose Sets use overwrite, with a map of values and
// deadlines. TestModel needs OnRemove, and so has no simple cache.
func TestSimpleModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) {
			m := &plainModel{Must(Options[int, int]{Expire: time.Hour}), map[int]modelEntry{}, 0, 0}
			t.Repeat(m.actions())
		})
	})
}

type plainModel struct {
	*Cache[int, int]
	entries  map[int]modelEntry
	next     int // value
	replaced uint64
}

func (m *plainModel) actions() map[string]func(*rapid.T) {
	key := rapid.IntRange(0, 9)
	ttl := rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute, 20 * time.Minute, time.Hour, 2 * time.Hour, 50 * time.Hour})
	return map[string]func(*rapid.T){
		"SetWithExpire": func(t *rapid.T) { m.set(key.Draw(t, "key"), ttl.Draw(t, "ttl")) },
		"Touch": func(t *rapid.T) {
			k, d := key.Draw(t, "key"), ttl.Draw(t, "ttl")
			if m.Touch(k, d) {
				m.entries[k] = entryFor(m.entries[k].value, d)
			}
		},
		"Del": func(t *rapid.T) { k := key.Draw(t, "key"); m.Del(k); delete(m.entries, k) },
		"sleep": func(t *rapid.T) {
			// Also to between two ticks, when what has expired is still there.
			time.Sleep(ttl.Draw(t, "d") + rapid.SampledFrom([]time.Duration{0, 300 * time.Millisecond}).Draw(t, "more"))
			synctest.Wait()
		},
		"": func(t *rapid.T) {
			if err := m.check(); err != nil {
				t.Fatal(err)
			}
			for k := range 10 {
				e, ok := m.entries[k]
				ok = ok && (e.deadline.IsZero() || time.Now().Before(e.deadline))
				if v, found := m.Peek(k); found != ok || ok && v != e.value {
					t.Fatalf("Peek(%d) = %d, %v; want %d, %v", k, v, found, e.value, ok)
				}
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

// TestUse: a Set or a Touch of a live key keeps its entry from eviction, whether or not it moves
// the task of the entry.
func TestUse(t *testing.T) {
	for name, use := range map[string]func(c *Cache[int, int]){
		"Set":                    func(c *Cache[int, int]) { c.Set(1, 1); c.Set(2, 2); c.Set(1, 1) },
		"Touch, a new task":      func(c *Cache[int, int]) { c.Set(1, 1); c.Set(2, 2); c.Touch(1, 2*time.Hour) },
		"Touch, task left alone": func(c *Cache[int, int]) { c.SetWithExpire(1, 1, time.Hour); c.Set(2, 2); c.Touch(1, 2*time.Hour) },
	} {
		c := Must(Options[int, int]{Limit: 2})
		use(c)
		c.Set(3, 3)
		if _, ok := c.Peek(1); !ok {
			t.Errorf("%s: the entry was used, and evicted next", name)
		}
	}
}
