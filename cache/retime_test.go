package cache

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// An expiryModel is a cache, and the deadlines that its entries should have: the
// zero time for never. What leaves the cache leaves the model when OnRemove tells.
type expiryModel struct {
	*Cache[int, int]
	ends map[int]time.Time

	mu       sync.Mutex
	removals []removal
}

type removal struct {
	Event[int, int]
	at time.Time
}

func newExpiryModel(o Options[int, int]) *expiryModel {
	m := &expiryModel{ends: map[int]time.Time{}}
	o.Workers = 1
	o.OnRemove = func(e Event[int, int]) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.removals = append(m.removals, removal{e, time.Now()})
	}
	m.Cache = Must(o)
	return m
}

func endOf(ttl time.Duration) time.Time {
	if ttl == 0 {
		return time.Time{}
	}
	return time.Now().Add(ttl)
}

func (m *expiryModel) set(key int, ttl time.Duration) error {
	m.SetWithExpire(key, key, ttl)
	err := m.settle()
	m.ends[key] = endOf(ttl)
	return err
}

func (m *expiryModel) touch(key int, ttl time.Duration) error {
	live := m.lives(key)
	if got := m.Touch(key, ttl); got != live {
		return fmt.Errorf("Touch(%d, %v) is %v, want %v", key, ttl, got, live)
	}
	if live {
		m.ends[key] = endOf(ttl)
	}
	return nil
}

// lives reports whether the deadline of a key has not passed.
func (m *expiryModel) lives(key int) bool {
	end, ok := m.ends[key]
	return ok && (end.IsZero() || time.Now().Before(end))
}

// settle takes what has left the cache out of the model. What has expired leaves
// within a tick, and nothing leaves as expired before its deadline.
func (m *expiryModel) settle() error {
	synctest.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	defer func() { m.removals = m.removals[:0] }()
	for _, r := range m.removals {
		end, ok := m.ends[r.Key]
		late := r.at.Sub(end)
		switch {
		case r.Cause == Replaced:
			continue
		case !ok,
			r.Cause == Expired && (end.IsZero() || late < 0 || late >= m.common.time.tick),
			r.Cause != Expired && !end.IsZero() && late >= 0:
			return fmt.Errorf("%d has left as %v at %v, deadline %v", r.Key, r.Cause, r.at, end)
		}
		delete(m.ends, r.Key)
	}
	return nil
}

// check compares the cache with the model: what has a deadline that has passed
// cannot be read, and is gone a tick later.
func (m *expiryModel) check() error {
	// The invariants first: they are looked at without the locks that the rest takes.
	if err := errors.Join(m.settle(), m.Cache.check()); err != nil {
		return err
	}
	pending := 0
	for key, end := range m.ends {
		if !end.IsZero() {
			pending++
			if late := time.Since(end); late >= m.common.time.tick { // fake time
				return fmt.Errorf("%d is still there %v after its deadline", key, late)
			}
		}
		if v, ok := m.Peek(key); ok != m.lives(key) || ok && v != key {
			return fmt.Errorf("Peek(%d) = %d, %v at %v, deadline %v", key, v, ok, time.Now(), end)
		}
	}
	if m.Len() != len(m.ends) {
		return fmt.Errorf("Len is %d, want %d", m.Len(), len(m.ends))
	}
	if got := m.Stats().Expiry.Pending; got != pending {
		return fmt.Errorf("%d entries are to expire, want %d", got, pending)
	}
	return nil
}

// TestRetimeModel gives entries random new lives, longer, shorter, equal and without end,
// in full caches and in others, and compares with a model.
func TestRetimeModel(t *testing.T) { rapid.Check(t, retimeModel) }

func FuzzRetime(f *testing.F) { f.Fuzz(rapid.MakeFuzz(retimeModel)) }

func retimeModel(t *rapid.T) {
	o := Options[int, int]{
		Limit:  rapid.SampledFrom([]int{1, 2, 5, 100}).Draw(t, "limit"),
		Expire: rapid.SampledFrom([]time.Duration{0, 5 * time.Millisecond, time.Hour}).Draw(t, "expire"),
	}
	rapid.SyncTest(t, func(t *rapid.T) {
		m := newExpiryModel(o)
		tick := m.common.time.tick
		ttls := rapid.SampledFrom([]time.Duration{
			0, 0, 1, time.Millisecond, tick - 1, tick, tick + 1, 3*tick + 7, 60 * tick, ringOfMany * tick, 3000 * tick, time.Hour, 100 * time.Hour,
		})
		key := rapid.IntRange(0, 7)
		must := func(t *rapid.T, err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		touch := func(t *rapid.T) { must(t, m.touch(key.Draw(t, "key"), ttls.Draw(t, "ttl"))) }
		t.Repeat(map[string]func(*rapid.T){
			"Set": func(t *rapid.T) {
				k := key.Draw(t, "key")
				m.Set(k, k)
				must(t, m.settle())
				m.ends[k] = endOf(o.Expire)
			},
			"SetWithExpire": func(t *rapid.T) { must(t, m.set(key.Draw(t, "key"), ttls.Draw(t, "ttl"))) },
			"Touch":         touch,
			"Touch again":   touch,
			"Del":           func(t *rapid.T) { m.Del(key.Draw(t, "key")) },
			"sleep": func(t *rapid.T) {
				time.Sleep(rapid.SampledFrom([]time.Duration{1, time.Millisecond, tick / 2, tick, 7*tick + 3}).Draw(t, "d"))
			},
			"sleep long": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "long") == 0 {
					time.Sleep(rapid.SampledFrom([]time.Duration{ringOfMany * tick, 1500*tick + 1}).Draw(t, "d"))
				} else {
					time.Sleep(60 * tick)
				}
			},
			"": func(t *rapid.T) { must(t, m.check()) },
		})
		must(t, m.Close(context.Background()))
	})
}

// ways are the ways to give an entry with one TTL another one.
var ways = map[string]func(m *expiryModel, key int, ttl time.Duration) error{
	"Touch": (*expiryModel).touch,
	"Set":   (*expiryModel).set,
	"Touch to never and back": func(m *expiryModel, key int, ttl time.Duration) error {
		if err := m.touch(key, 0); err != nil {
			return err
		}
		return m.touch(key, ttl)
	},
	"Touch twice": func(m *expiryModel, key int, ttl time.Duration) error {
		if err := m.touch(key, ttl+ttl/2); err != nil {
			return err
		}
		return m.touch(key, ttl)
	},
	"Touch back and forth": func(m *expiryModel, key int, ttl time.Duration) error {
		if err := m.touch(key, ttl/2+1); err != nil {
			return err
		}
		return m.touch(key, ttl)
	},
}

// TestEveryChangeOfTTL changes entries of every TTL to every other one, in each possible
// way, at once and after a while. Each can be read until its last deadline, and is gone a
// tick later.
func TestEveryChangeOfTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newExpiryModel(Options[int, int]{Expire: time.Hour, Limit: 1 << 12})
		ttls := []time.Duration{
			0, time.Millisecond, m.common.time.tick - 1, m.common.time.tick, m.common.time.tick + 1, 2 * m.common.time.tick, 9 * m.common.time.tick, 10 * m.common.time.tick, 100 * m.common.time.tick,
			(ringOfMany - 1) * m.common.time.tick, ringOfMany*m.common.time.tick + 1, 2 * time.Hour, 25 * time.Hour, 30 * 24 * time.Hour,
		}
		key := 0
		for _, old := range ttls {
			for _, ttl := range ttls {
				for name, change := range ways {
					for _, wait := range []time.Duration{0, min(old/2, m.common.time.tick+1)} {
						key++
						time.Sleep(m.common.time.tick / 16) // so that no tick is busy
						if wait == 0 {
							time.Sleep(m.common.time.untilTick(m.realTime())) // deadlines fall on ticks
						}
						err := m.set(key, old)
						time.Sleep(wait)
						if err = errors.Join(err, change(m, key, ttl)); err != nil {
							t.Fatalf("%s, from %v to %v after %v: %v", name, old, ttl, wait, err)
						}
						if 0 < ttl && ttl <= 10*m.common.time.tick {
							m.outlive(t, key)
						}
					}
				}
			}
		}
		// Those of a month are not looked at to the end.
		for _, key := range m.byEnd(time.Now().Add(26 * time.Hour)) {
			m.outlive(t, key)
		}
		time.Sleep(m.common.time.tick)
		if err := m.check(); err != nil {
			t.Error(err)
		}
		if left := m.byEnd(time.Now()); len(left) > 0 {
			t.Errorf("%d entries are left", len(left))
		}
		mustClose(t, m.Cache)
	})
}

// byEnd returns the keys with a deadline up to some time, the earliest first.
func (m *expiryModel) byEnd(last time.Time) (keys []int) {
	for key, end := range m.ends {
		if !end.IsZero() && !end.After(last) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b int) int { return m.ends[a].Compare(m.ends[b]) })
	return keys
}

// outlive looks at a key immediately before its deadline, and, at every other one,
// also then: the others are left to the driver.
func (m *expiryModel) outlive(t *testing.T, key int) {
	t.Helper()
	end := m.ends[key]
	if time.Until(end) <= 0 {
		return // it ended with the one before
	}
	time.Sleep(time.Until(end) - 1)
	if _, ok := m.Peek(key); !ok {
		t.Fatalf("%d is gone before its deadline", key)
	}
	time.Sleep(time.Nanosecond)
	if key%2 == 0 {
		if _, ok := m.Peek(key); ok {
			t.Fatalf("%d is there at its deadline", key)
		}
	}
	if err := m.settle(); err != nil {
		t.Fatal(err)
	}
}

// TestTouchOfAReader checks that a shorter TTL takes no lock for writing if the ring
// visits the entry in time.
func TestTouchOfAReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[int, int]{Limit: 10})
		c.SetWithExpire(1, 1, 20*c.common.time.tick)
		h := c.common.hasher.Hash(1)
		for _, step := range []struct {
			ticks time.Duration
			done  bool
		}{{50, true}, {20, true}, {30, true}, {19, false}, {0, false}} {
			l, found, done := c.common.touch(h, 1, step.ticks*c.common.time.tick)
			if !found || done != step.done {
				t.Errorf("to %d ticks: found is %v, done %v, want %v", step.ticks, found, done, step.done)
			} else if done && c.deadlineOf(1) != l.deadline {
				t.Errorf("to %d ticks: the deadline is %d, want %d", step.ticks, c.deadlineOf(1), l.deadline)
			}
		}
		c.Clear()
	})
}

// TestTakenOverSlotsHaveOneTask makes a small cache evict all the time, with TTLs of all
// lengths and none. The ring has a task for each entry with a deadline, and no more.
func TestTakenOverSlotsHaveOneTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newExpiryModel(Options[int, int]{Limit: 8})
		random := rand.New(rand.NewPCG(3, 4))
		ttls := []time.Duration{0, 0, time.Millisecond, m.common.time.tick, 5 * m.common.time.tick, 300 * m.common.time.tick, 2 * ringOfMany * m.common.time.tick, time.Hour}
		mixed := 0 // checks with entries of both kinds
		for range 5000 {
			key, ttl := random.IntN(40), ttls[random.IntN(len(ttls))]
			change := (*expiryModel).set
			if random.IntN(3) == 0 {
				change = (*expiryModel).touch
			}
			if err := errors.Join(change(m, key, ttl), m.check()); err != nil {
				t.Fatal(err)
			}
			if n := len(m.byEnd(time.Now().Add(2 * time.Hour))); 0 < n && n < len(m.ends) {
				mixed++
			}
			time.Sleep(m.common.time.tick / time.Duration(1+random.IntN(50)))
		}
		if mixed < 1000 {
			t.Errorf("only %d times there were entries with and without a deadline", mixed)
		}
		mustClose(t, m.Cache)
	})
}
