package cache

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/pinwheel-cache/pinwheel/cache/internal/clock"
	"github.com/pinwheel-cache/pinwheel/internal/eviction"
)

// check verifies the invariants that hold between any two operations, over all
// that a shard keeps of its entries. No operation may be under way; check itself keeps
// ticks from expiring entries meanwhile.
func (c *Cache[K, V]) check() error {
	c.common.time.driver.working.Lock()
	defer c.common.time.driver.working.Unlock()
	used, entries := uint64(0), uint64(0)
	for t := c.common.table.Load(); t != nil; t = t.larger.Load() {
		for i := range t.shards {
			s := &t.shards[i]
			if err := s.check(); err != nil {
				return fmt.Errorf("shard %d of %d: %w", i, len(t.shards), err)
			}
			used += s.used()
			if !s.split {
				entries += uint64(s.slots.len)
			}
		}
	}
	if got := c.common.size.budget.used.Load(); got != used {
		return fmt.Errorf("the budget has %d in use, want %d", got, used)
	}
	if limit := c.common.size.budget.max.Load(); limit > 0 && used > limit {
		return fmt.Errorf("%d of %d in use", used, limit)
	}
	if b := c.common.size.counts; b != nil && (b.used.Load() != entries || entries > b.max.Load()) {
		return fmt.Errorf("%d entries of %d are counted, want %d", b.used.Load(), b.max.Load(), entries)
	}
	return nil
}

// wantWhole verifies the invariants of a cache.
func wantWhole[K comparable, V any](t *testing.T, c *Cache[K, V]) {
	t.Helper()
	if err := c.check(); err != nil {
		t.Error(err)
	}
}

// mustClose closes a cache.
func mustClose[K comparable, V any](t *testing.T, c *Cache[K, V]) {
	t.Helper()
	if err := c.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// used returns what a shard uses of the budget.
func (s *shard[K, V]) used() (weight uint64) {
	if !s.limited {
		return 0
	}
	for i := range s.entries {
		if s.entries[i].live() {
			weight += uint64(s.turn.weight(uint32(i)))
		}
	}
	return weight
}

func (s *shard[K, V]) check() error {
	for _, check := range []func() error{s.checkSlots, s.checkIndex, s.checkOrder, s.checkEvictable, s.checkRing, s.checkFences} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkSlots: every slot is live, or zero and in the list of free ones.
func (s *shard[K, V]) checkSlots() error {
	n := len(s.entries)
	free := make([]bool, n)
	for k, i := s.slots.len, s.slots.free; k < n; k++ {
		if int(i) >= n || free[i] || s.entries[i].live() {
			return fmt.Errorf("the list of free slots has slot %d of %d twice, or live", i, n)
		}
		free[i] = true
		i = s.slots.after(i, &s.entries[i].deadline)
	}
	var none entry[K, V]
	for i := range s.entries {
		e := &s.entries[i]
		if e.live() == free[i] {
			return fmt.Errorf("slot %d: live is %v, free is %v", i, e.live(), free[i])
		}
		if free[i] && (e.key != none.key || any(e.value) != any(none.value)) {
			return fmt.Errorf("free slot %d holds on to %v", i, e.key)
		}
	}
	return nil
}

// checkIndex: it has exactly the live slots.
func (s *shard[K, V]) checkIndex() error {
	hashes := map[uint32]uint64{}
	for i := range s.entries {
		if e := &s.entries[i]; e.live() {
			hashes[uint32(i)] = s.common.hasher.Hash(e.key)
		}
	}
	if len(hashes) != s.slots.len {
		return fmt.Errorf("%d entries are live, want %d", len(hashes), s.slots.len)
	}
	return s.index.Check(hashes)
}

// checkOrder: it has exactly the live slots, if the entries are limited.
func (s *shard[K, V]) checkOrder() error {
	if s.turn.order == nil {
		if s.limited {
			return fmt.Errorf("limited, and no order")
		}
		return nil
	}
	slots := slices.Collect(s.turn.order.All())
	if len(slots) != s.slots.len || s.turn.order.Len() != s.slots.len {
		return fmt.Errorf("the order has %d entries, or %d, of %d", len(slots), s.turn.order.Len(), s.slots.len)
	}
	slices.Sort(slots)
	if len(slices.Compact(slots)) != s.slots.len {
		return fmt.Errorf("the order has an entry twice")
	}
	for _, i := range slots {
		if !s.entries[i].live() {
			return fmt.Errorf("the order has slot %d, which is free", i)
		}
	}
	return s.checkWeights()
}

// checkWeights: an Adaptive order knows what its entries weigh.
func (s *shard[K, V]) checkWeights() error {
	a, ok := s.turn.order.(*eviction.Adaptive)
	if !ok || s.turn.weights == nil {
		return nil
	}
	want := uint64(0)
	for i := range a.All() {
		want += uint64(s.turn.weights[i])
	}
	queues := reflect.ValueOf(a).Elem().FieldByName("weight")
	if got := queues.Index(0).Uint() + queues.Index(1).Uint(); got != want {
		return fmt.Errorf("the order weighs %d, want %d", got, want)
	}
	return nil
}

// checkEvictable: in a cache that weighs, what others read of the order's length is right.
func (s *shard[K, V]) checkEvictable() error {
	if s.common.size.weigh == nil {
		return nil
	}
	want := int64(0)
	if s.turn.order != nil {
		want = int64(s.turn.order.Len())
	}
	if got := int64(s.turn.evictable.Load()); got != want {
		return fmt.Errorf("%d entries count as evictable, want %d", got, want)
	}
	return nil
}

// checkRing: the ring visits an entry with a deadline no later than that, and has no task
// for a slot without one. The driver wakes no later than the next visit.
func (s *shard[K, V]) checkRing() error {
	if waits := s.common.time.driver.anchor != nil && s.lives.ring != nil && s.lives.ring.Len() > 0; waits != s.lives.anchored {
		return fmt.Errorf("an entry of a cache with OnRemove waits to expire: %v; the shard says %v", waits, s.lives.anchored)
	}
	if s.lives.ring != nil {
		visit, ok := s.lives.ring.NextVisit()
		next, alarm := s.lives.nextVisit.Load(), s.common.time.driver.alarm.Load()
		if ok && next > visit || !s.closed && alarm > next {
			return fmt.Errorf("the ring has a visit at %d (%v), the shard says %d, and the driver comes at %d", visit, ok, next, alarm)
		}
	}
	for i := range s.entries {
		e := &s.entries[i]
		deadline := e.deadline.Get()
		due, waits := int64(0), false
		if s.lives.ring != nil {
			due, waits = s.lives.ring.Visit(uint32(i))
		}
		switch {
		case (!e.live() || deadline == clock.Never) && waits:
			return fmt.Errorf("slot %d has a task and deadline %d", i, deadline)
		case e.live() && deadline != clock.Never && !waits:
			return fmt.Errorf("slot %d expires at %d and has no task", i, deadline)
		}
		if deadline < 0 && waits {
			deadline = s.end(uint32(i))
		}
		if s.isEarlier(uint32(i)) {
			due = s.lives.nextVisit.Load()
		}
		if waits && due > max(s.common.time.tickAt(deadline), s.lives.ring.Now()+1) {
			return fmt.Errorf("slot %d expires at %d, tick %d, and the ring comes by at %d", i, deadline, s.common.time.tickAt(deadline), due)
		}
	}
	return nil
}

// isEarlier reports whether entry i is marked as one whose deadline was brought forward.
func (s *shard[K, V]) isEarlier(i uint32) bool {
	return s.lives.earlier != nil && s.lives.earlier.words[i/bitsPerWord]>>(i%bitsPerWord)&1 != 0
}

// checkFences: fences and loads go when they have ended.
func (s *shard[K, V]) checkFences() error {
	if s.pending.fences != nil && s.pending.fences.up.Load() != 0 || s.pending.loading != 0 || s.pending.loads != nil && slices.ContainsFunc(s.pending.loads.lists, func(first *load[K, V]) bool { return first != nil }) {
		return fmt.Errorf("fences or loads left over")
	}
	return nil
}

// setShards gives an empty cache a number of shards, which stays.
func (c *Cache[K, V]) setShards(n int) {
	c.initTable(n)
	c.common.table.Load().growing.Store(false)
}

// splitInto splits each shard of a cache, unless that makes very many.
func (c *Cache[K, V]) splitInto(n int) {
	c.common.shape.Lock()
	defer c.common.shape.Unlock()
	if t := c.common.table.Load(); len(t.shards) < 64 {
		t.larger.CompareAndSwap(nil, c.common.newTable(n*len(t.shards)))
		for c.common.table.Load() == t {
			c.common.divideNext(t)
		}
	}
}

// allShards gives a cache as many shards as it is to have once it needs them.
func (c *Cache[K, V]) allShards() []shard[K, V] {
	for t := c.common.table.Load(); t.growing.Load(); t = c.common.table.Load() {
		c.common.enlarge(t)
	}
	return c.common.table.Load().shards
}
