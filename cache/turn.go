// This file has the turn of a shard's entries: whose turn it is to be evicted, and what each weighs.
// The order has exactly the live entries, and there is none before the first limit; weights
// there are in a cache that weighs. The lock of the shard guards them, held for writing; other
// shards that need room read evictable without it.

package cache

import (
	"sync/atomic"

	"github.com/pinwheel-cache/pinwheel/internal/eviction"
)

// A turn has the eviction order of a shard, and the weights of its entries.
type turn struct {
	order     eviction.Policy // nil before the first limit of any kind; it stays when that is lifted
	weights   []uint32        // nil if the cache does not weigh
	evictable atomic.Int32    // the length of the order, in a cache that weighs
	sink      uint32          // of no meaning: without it the compiler would drop what prefetches read
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

// adopt adds entry i, which is entry j of another turn. Its weight was copied.
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
	t.count(-1)
}

// count counts entries that enter or leave the order, for shards that look for room.
func (t *turn) count(n int32) {
	if t.weights != nil {
		t.evictable.Add(n)
	}
}

// reweigh gives entry i another weight.
func (t *turn) reweigh(i, weight uint32) {
	t.order.Reweigh(i, weight)
	t.weights[i] = weight
}

// firstBut returns the entry that is next by the order, other than entry i. It returns false
// if there is no other.
func (t *turn) firstBut(i uint32) (j uint32, ok bool) {
	for j := range t.order.All() {
		if j != i {
			return j, true
		}
	}
	return 0, false
}

// split gives t an empty order for n slots like that of another turn, if that has one, and
// returns its marks.
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

// copy copies what another turn keeps of entry from, but for its place in the order, for entry to.
func (t *turn) copy(to uint32, other *turn, from uint32) {
	if t.weights != nil {
		t.weights[to] = other.weights[from]
	}
}

// rename moves an entry to another slot in the order.
func (t *turn) rename(from, to uint32) {
	if t.order != nil {
		t.order.Rename(from, to)
	}
}

// drop frees the memory.
func (t *turn) drop() { t.order, t.weights = nil, nil }
