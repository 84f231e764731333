package cache

import (
	"math"

	"github.com/pinwheel-cache/pinwheel/internal/index"
)

const (
	// minSlots is what a shard begins with, unless its limit is lower.
	minSlots = 8

	// A shard that uses less than a quarter of its slots shrinks to twice what
	// it uses. So it must double or halve before its arrays are copied again.
	sparse = 4
)

// grow doubles the slots of the shard, but not beyond the number that it is expected to
// need.
func (s *shard[K, V]) grow() {
	used := len(s.entries)
	n := max(minSlots, 2*used)
	if n >= s.common.fullSlots() {
		s.common.crowds()
	}
	if s.common.weigh != nil {
		n = min(n, used+max(used/8+1, s.common.room(used)))
	} else if most := s.common.expectedSlots(); most > 0 && n > most {
		n = max(most, used+used/64+1)
	}
	s.setSlots(n)
}

// room returns how many entries more than n a cache that weighs its values has room for, if
// new ones weigh as much as the present ones. It is at least n while half of the budget is
// left.
func (c *common[K, V]) room(n int) int {
	most, used := c.budget.max.Load(), c.budget.used.Load()
	if used <= most/2 {
		return n
	}
	return int(float64(n) * float64(most-min(used, most)) / float64(used))
}

// expectedSlots returns how many entries a shard of a cache with a limit is expected to
// have at most: the mean and a standard deviation. A shard that gets more grows a little.
// It returns 0 if the number of entries has no limit.
func (c *common[K, V]) expectedSlots() int {
	limit := int(c.limit.Load())
	n := len(c.table.Load().shards)
	if n == 1 {
		return limit
	}
	mean := float64(limit) / float64(n)
	return int(mean + math.Sqrt(mean))
}

// maybeShrink frees memory if many entries were removed.
func (s *shard[K, V]) maybeShrink() {
	if len(s.entries) <= minSlots || s.len > len(s.entries)/sparse || s.pins.Load() != 0 {
		return
	}
	s.setSlots(max(minSlots, 2*s.len))
}

// setSlots gives all arrays n slots, which must be enough for the entries.
func (s *shard[K, V]) setSlots(n int) {
	used := len(s.entries)
	if s.len == 0 { // nothing in the arrays is needed
		s.entries, s.ring, s.earlier, used = nil, nil, nil, 0
		s.next.Store(noTick)
	}
	s.moveEarlier(used)
	if n < used {
		s.compact(n)
		used = n
	}
	s.entries = resized(s.entries, n)
	if s.common.weigh != nil {
		s.weights = resized(s.weights, n)
	}
	if s.common.idle > 0 {
		s.caps = resized(s.caps, n)
	}
	if s.common.renews {
		s.due = resized(s.due, n)
	}
	if s.common.ages {
		s.born = resized(s.born, n)
	}
	s.resizeOrder(n)
	if s.ring != nil {
		s.ring.Resize(n)
	}
	s.free = uint32(used)
	for i := used - 1; i >= 0 && s.len < used; i-- {
		if !s.entries[i].live() {
			s.freeSlot(uint32(i))
		}
	}
	s.rebuildIndex(used)
}

// compact moves the entries of slots n and above to free slots below, so that
// the arrays can be cut off there.
func (s *shard[K, V]) compact(n int) {
	to := uint32(0)
	for i := n; i < len(s.entries); i++ {
		from := uint32(i)
		if !s.entries[from].live() {
			if s.ring != nil {
				s.ring.Forget(from)
			}
			continue
		}
		for s.entries[to].live() {
			to++
		}
		s.rename(from, to)
	}
}

// rename moves an entry to a free slot. The index is left as it is.
func (s *shard[K, V]) rename(from, to uint32) {
	s.copyEntry(to, s, from)
	s.entries[from].deadline.set(freeSlots)
	s.relist(from, to)
	if s.ring != nil {
		s.ring.Rename(from, to)
	}
}

// copyEntry copies what a shard, this one or another, keeps of an entry in arrays that
// nothing but the entry changes.
func (s *shard[K, V]) copyEntry(to uint32, other *shard[K, V], from uint32) {
	a, b := &other.entries[from], &s.entries[to]
	b.key, b.value = a.key, a.value
	b.deadline.set(a.deadline.load())
	if s.weights != nil {
		s.weights[to] = other.weights[from]
	}
	if s.caps != nil {
		s.caps[to] = other.caps[from]
	}
	if s.due != nil {
		s.due[to].set(other.due[from].load())
	}
	if s.born != nil {
		s.born[to] = other.born[from]
	}
}

// rebuildIndex makes a new index for the entries, which are in slots below used. It hashes
// the keys of a batch before it inserts them, unless they are integers: so the bytes of many
// strings come from memory at once.
func (s *shard[K, V]) rebuildIndex(used int) {
	s.index = index.New(len(s.entries))
	var f fetched
	for i := range uint32(used) {
		e := &s.entries[i]
		if !e.live() {
			continue
		}
		if h, ok := s.common.hasher.Word(e.key); ok {
			s.index.Insert(h, i)
			continue
		}
		if f.n == batch {
			s.insertFetched(&f)
		}
		f.slots[f.n], f.hashes[f.n] = i, s.common.hasher.Hash(e.key)
		f.n++
	}
	s.insertFetched(&f)
}

// insertFetched inserts entries into the index.
func (s *shard[K, V]) insertFetched(f *fetched) {
	for n, i := range f.slots[:f.n] {
		s.index.Insert(f.hashes[n], i)
	}
	f.n = 0
}

func resized[T any](old []T, n int) []T {
	a := make([]T, n)
	copy(a, old)
	return a
}

// Resize changes the limit of the cache to limit entries, or to none if limit
// is 0. If there are more entries than that, it evicts the surplus before it
// returns. For a negative limit, and for a cache that has a MaxWeight, which is for
// ResizeWeight, it returns an error that wraps [ErrArgument].
//
// With a larger limit, the next writes give the cache as many shards as it needs, unless a
// walk is under way. With a smaller limit the cache keeps its shards.
func (c *Cache[K, V]) Resize(limit int) error {
	if c.common.weigh != nil {
		return wrongArgument("Resize(%d) of a cache with MaxWeight: want ResizeWeight", limit)
	}
	if limit < 0 || limit > math.MaxInt32 {
		return wrongArgument("Resize(%d): want a limit from 1 to %d, or 0 for none", limit, math.MaxInt32)
	}
	c.setLimit(limit)
	if limit > 0 {
		c.evictSurplus()
	}
	return nil
}

// ResizeWeight changes the MaxWeight of the cache. If its entries weigh more than that,
// it evicts some before it returns. For 0, and for a cache without a MaxWeight, it
// returns an error that wraps [ErrArgument].
func (c *Cache[K, V]) ResizeWeight(maxWeight uint64) error {
	if c.common.weigh == nil {
		return wrongArgument("ResizeWeight(%d) of a cache without MaxWeight: want Resize, or options with Weigh", maxWeight)
	}
	if maxWeight == 0 {
		return wrongArgument("ResizeWeight(0): want at least 1")
	}
	c.common.budget.max.Store(maxWeight)
	c.common.growOn()
	c.evictSurplus()
	return nil
}

// evictSurplus evicts entries of all shards, a batch at a time, until the budget is kept.
func (c *Cache[K, V]) evictSurplus() {
	for surplus := c.common.budget.surplus(); surplus > 0; surplus = c.common.budget.surplus() {
		shards := c.common.all()
		each := int(min(surplus/uint64(len(shards))+1, batch))
		for i := range shards {
			c.common.settle(shards[i].evictSurplus(each))
		}
		c.common.release()
	}
}

// setLimit sets the limit of the cache and of its shards, but evicts nothing.
func (c *Cache[K, V]) setLimit(limit int) {
	c.resizing.Lock()
	defer c.resizing.Unlock()
	if limit == 0 {
		c.common.limit.Store(0) // first: from now on budget.used is not the number of entries
	} else {
		c.common.budget.max.Store(uint64(limit))
	}
	shards := c.common.all()
	for i := range shards {
		shards[i].setLimited(limit > 0)
	}
	c.common.limit.Store(int64(limit))
	c.common.release()
	c.common.growOn()
	c.common.watch.Load().resized(limit)
	c.common.resizeNegatives(limit)
}

// evictSurplus evicts up to n entries while there is a surplus. It reports whether
// settle must follow.
func (s *shard[K, V]) evictSurplus(n int) (reported bool) {
	s.lock.Lock()
	for ; n > 0 && s.common.budget.surplus() > 0 && s.evict(); n-- {
	}
	s.maybeShrink()
	return s.unlock()
}

// setLimited says whether the entries of the shard count against the budget.
func (s *shard[K, V]) setLimited(limited bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.limited == limited {
		return
	}
	s.limited = limited
	if !limited {
		s.common.budget.release(uint64(s.len))
		return
	}
	s.common.budget.used.Add(uint64(s.len))
	if s.order == nil {
		s.makeOrder()
	}
}
