package timingwheel

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// newKeyed returns a wheel of its own for a test, and stops it at the end.
func newKeyed[K comparable, V any](t testing.TB, interval time.Duration, slots int, execute func(K, V), opts ...Option) *TimingWheel[K, V] {
	t.Helper()
	w, err := New(interval, slots, execute, opts...)
	must(t, err)
	t.Cleanup(w.Stop)
	return w
}

// mustSetKeyed sets a timer that can be set.
func mustSetKeyed[K comparable, V any](t testing.TB, w *TimingWheel[K, V], key K, value V, delay time.Duration) {
	t.Helper()
	if err := w.SetTimer(key, value, delay); err != nil {
		t.Fatalf("SetTimer(%v, %v, %v): %v", key, value, delay, err)
	}
}

// wantKeyed fails unless a Move or Remove reports what it should.
func wantKeyed(t testing.TB, what string, want bool) func(got bool, err error) {
	return func(got bool, err error) {
		t.Helper()
		if got != want || err != nil {
			t.Errorf("%s: %v, %v, want %v", what, got, err, want)
		}
	}
}

func wantKeyedErr(t testing.TB, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: error %v, want %v", what, got, want)
	}
}

// A keyedCall is a call of a callback.
type keyedCall[K comparable, V any] struct {
	key   K
	value V
	at    time.Time
}

// keyedCalls collects calls of a callback.
type keyedCalls[K comparable, V any] struct {
	mu  sync.Mutex
	all []keyedCall[K, V]
}

func (c *keyedCalls[K, V]) add(key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, keyedCall[K, V]{key, value, time.Now()})
}

// take returns the calls since the last take.
func (c *keyedCalls[K, V]) take() []keyedCall[K, V] {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.all
	c.all = nil
	return all
}

func (c *keyedCalls[K, V]) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.all)
}

// checkKeyed verifies what must hold of a wheel whenever nobody works on it.
func checkKeyed[K comparable, V any](w *TimingWheel[K, V]) error {
	n, err := checkShards(&w.wheel, w.shards)
	if w.quota.limit > 0 && w.quota.used.Load() != int64(n) {
		return fmt.Errorf("%d timers, and the limit counts %d", n, w.quota.used.Load())
	}
	if got := w.Len(); err == nil && got != n {
		return fmt.Errorf("Len is %d, want %d", got, n)
	}
	return err
}

// checkShards checks every shard of a wheel, and that the driver will be awake in time. It
// returns the number of timers.
func checkShards[S any, P interface {
	*S
	anyShard
	len() int
	check() error
}](w *wheel, shards []atomic.Pointer[S]) (n int, err error) {
	for i := range shards {
		s := P(shards[i].Load())
		if s == nil {
			continue
		}
		if err := s.check(); err != nil {
			return n, fmt.Errorf("shard %d: %w", i, err)
		}
		if next, alarm := s.nextVisit(), w.alarm.Load(); alarm > next {
			return n, fmt.Errorf("shard %d: next visit at %d, alarm at %d", i, next, alarm)
		}
		if held := w.anchors[i] != nil; held != (s.len() > 0) {
			return n, fmt.Errorf("shard %d: %d timers, and the alarm holds the wheel: %v", i, s.len(), held)
		}
		n += s.len()
	}
	return n, nil
}

// check verifies the invariants of a shard of either kind. Its lock must be held.
func (s *shard[E]) check() error {
	if err := errors.Join(s.checkRing(), s.checkNumbers()); err != nil {
		return err
	}
	if got, want := s.held.Load(), int64(s.ring.Held()); got != want {
		return fmt.Errorf("published that %d are held, want %d", got, want)
	}
	for i := range uint32(s.used) {
		if at, waits := s.ring.Visit(i); waits && at < s.next.Load() {
			return fmt.Errorf("number %d is to be visited at %d, next visit at %d", i, at, s.next.Load())
		}
	}
	return nil
}

// check verifies the invariants of a shard.
func (s *keyedShard[K, V]) check() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.shard.check(); err != nil {
		return err
	}
	soon := s.next.Load() <= s.clock.ticks(s.clock.now())+1 // the driver wakes soon
	if live, most := s.ring.Len(), len(s.entries); s.walks == 0 && most > minSlab && most > sparseFactor*live && !soon {
		return fmt.Errorf("%d entries for %d timers", most, live)
	}
	if s.closed && s.ring.Len()+s.ring.Tombstones() > 0 {
		return fmt.Errorf("closed, with %d timers", s.ring.Len())
	}
	hashes := map[uint32]uint64{}
	for i := range uint32(s.used) {
		if !s.live(i) {
			continue
		}
		key := s.entries[i].key
		hashes[i] = s.wheel.hasher.Hash(key)
		if s.wheel.shardOf(hashes[i]) != s {
			return fmt.Errorf("key %v is in the wrong shard", key)
		}
		if at, ok := s.find(hashes[i], key); !ok || at != i {
			return fmt.Errorf("key %v has number %d, and is found under %d, %v", key, i, at, ok)
		}
	}
	return s.index.Check(hashes)
}

// checkRing verifies that the ring counts the tasks it has, and visits each in time.
func (s *slab[E]) checkRing() error {
	live, held := 0, 0
	next, any := s.ring.NextVisit()
	for i := range uint32(len(s.entries)) {
		due, ok := s.ring.Due(i)
		if !ok {
			continue
		}
		live++
		if visit, waits := s.ring.Visit(i); !waits {
			held++
		} else if !any || visit < next || visit > due || visit < s.ring.Now() {
			return fmt.Errorf("task %d, due at %d, is visited at %d; the ring is at %d, and its next visit at %d, %v", i, due, visit, s.ring.Now(), next, any)
		}
	}
	if live != s.ring.Len() || held != s.ring.Held() {
		return fmt.Errorf("%d tasks, %d held, counted %d and %d", s.ring.Len(), s.ring.Held(), live, held)
	}
	return nil
}

// checkNumbers verifies that every number is in use, given back, or not handed
// out yet, and that what is not in use holds nothing.
func (s *slab[E]) checkNumbers() error {
	if s.used > len(s.entries) {
		return fmt.Errorf("%d entries, %d used", len(s.entries), s.used)
	}
	free := map[uint32]bool{}
	for _, i := range s.free {
		if free[i] || int(i) >= s.used || s.live(i) {
			return fmt.Errorf("number %d of %d is free twice, never used, or live", i, s.used)
		}
		free[i] = true
	}
	if got, want := s.ring.Len()+len(s.free), s.used; got != want {
		return fmt.Errorf("%d live and %d free, %d used", s.ring.Len(), len(s.free), want)
	}
	for i := range s.entries {
		if !s.live(uint32(i)) && !reflect.ValueOf(s.entries[i]).IsZero() {
			return fmt.Errorf("number %d is not live and holds %v", i, s.entries[i])
		}
		tombstones := s.ring.Tombstones()
		if i >= s.used {
			s.ring.Forget(uint32(i))
		}
		if s.ring.Tombstones() != tombstones {
			return fmt.Errorf("number %d was never used and is in the ring", i)
		}
	}
	return nil
}
