// This file says which entry of a shard is evicted next, and what each weighs. A new array about
// eviction goes here. The order has exactly the live entries. A shard has it from the first limit on,
// also after Resize(0), and has weights in a cache that weighs. The lock of the shard, held for
// writing, guards all of it; but other shards that need room read evictable without the lock.

package cache

import (
	"sync/atomic"

	"github.com/pinwheel-cache/pinwheel/internal/eviction"
)

// turn has the eviction order of a shard, and the weights of its entries.
type turn struct {
	order     eviction.Policy // nil before the first limit; it stays after Resize(0)
	weights   []uint32        // nil if the cache does not weigh
	evictable atomic.Int32    // the length of the order, in a cache that weighs
	sink      uint32          // without it the compiler would remove the reads of a prefetch
}

// newOrder returns an empty order by a policy.
func newOrder(p Policy) eviction.Policy {
	if p == Adaptive {
		return new(eviction.Adaptive)
	}
	return new(eviction.Order)
}

// weight returns the weight of entry i.
func (t *turn) weight(i uint32) uint32 {
	if t.weights == nil {
		return 1
	}
	return t.weights[i]
}

// heat returns how many marks entry i has.
func (t *turn) heat(i uint32) uint8 {
	if t.order == nil {
		return 0
	}
	return t.order.Heat(i)
}

// insert adds entry i, whose key has hash h.
func (t *turn) insert(i uint32, h uint64, weight uint32) {
	if t.weights != nil {
		t.weights[i] = weight
	}
	if t.order != nil {
		t.order.Insert(i, h)
	}
	t.count(1)
}

// adopt adds entry i, which was entry j of another turn. Its weight has been copied already.
func (t *turn) adopt(i uint32, other *turn, j uint32) {
	if t.order != nil {
		t.order.Adopt(i, other.order, j)
	}
	t.count(1)
}

// remove takes entry i out.
func (t *turn) remove(i uint32) {
	if t.order != nil {
		t.order.Remove(i)
	}
	if t.weights != nil {
		t.evictable.Add(-1)
	}
}

// count counts entries that enter or leave the order, for shards that look for room.
func (t *turn) count(n int32) {
	if t.weights != nil {
		t.evictable.Add(n)
	}
}

// share returns how many entries the shard could evict, in a cache that weighs. It needs no lock.
func (t *turn) share() int32 { return t.evictable.Load() }

// sunk takes the result of a prefetch.
func (t *turn) sunk(read uint64) { t.sink += uint32(read) }

// clear notes that all entries are removed.
func (t *turn) clear() { t.evictable.Store(0) }

// reweigh gives entry i another weight.
func (t *turn) reweigh(i, weight uint32) {
	t.order.Reweigh(i, weight)
	t.weights[i] = weight
}

// firstBut returns the entry other than i that is next by the order, or false if there is none.
func (t *turn) firstBut(i uint32) (j uint32, ok bool) {
	for j := range t.order.All() {
		if j != i {
			return j, true
		}
	}
	return 0, false
}

// split gives t an empty order for n slots, with the policy of another turn, and returns its marks.
// It does nothing if the other turn has no order.
func (t *turn) split(from *turn, n int) *eviction.Marks {
	if from.order == nil {
		return nil
	}
	t.order = from.order.Split(n)
	if t.weights != nil {
		t.order.Weigh(t.weights)
	}
	return t.order.Marks()
}

// resize makes room for n slots.
func (t *turn) resize(n int, weighs bool) {
	if weighs {
		t.weights = resized(t.weights, n)
	}
	if t.order == nil {
		return
	}
	t.order.Resize(n)
	if t.weights != nil {
		t.order.Weigh(t.weights)
	}
}

// copy copies what another turn has of entry from to entry to, except its place in the order.
func (t *turn) copy(to uint32, other *turn, from uint32) {
	if t.weights != nil {
		t.weights[to] = other.weights[from]
	}
}

// replace gives the place of entry i to a new one in the same slot, whose key has hash h.
func (t *turn) replace(i uint32, h uint64) { t.order.Replace(i, h) }

// prefetchRemove reads what the removal of entry i needs.
func (t *turn) prefetchRemove(i uint32) uint64 {
	if t.order == nil {
		return 0
	}
	return t.order.PrefetchRemove(i)
}

// rename moves an entry to another slot in the order.
func (t *turn) rename(from, to uint32) {
	if t.order != nil {
		t.order.Rename(from, to)
	}
}

// drop frees the memory.
func (t *turn) drop() { t.order, t.weights = nil, nil }
