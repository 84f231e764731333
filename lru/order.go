package lru

import (
	"fmt"
	"iter"

	"github.com/pinwheel-cache/pinwheel/internal/eviction"
)

// An Order knows which slots of a store are in use, and which of them to empty next. [New]
// and [NewAdaptive] make one. A slot that it does not have, or that is in use where it must
// not be, causes a panic that says so.
//
// Any number of goroutines may call Mark at once. Every other method needs exclusive access:
// not even Mark may run beside it.
type Order struct {
	policy eviction.Policy
	hash   func(slot uint32) uint64
	used   []bool // by slot
}

// New returns an Order of n slots, none in use, which evicts the one that was not used for
// longest, nearly: see the package. It panics if n is negative or above 2^31.
func New(n int) *Order { return newOrder(new(eviction.Order), n, func(uint32) uint64 { return 0 }) }

// NewAdaptive is New with an order that also resists scans and loops. Insert and Evict call
// hash for the hash of the key that is in a slot; it must be evenly distributed, as those of
// package hash/maphash are. It panics if hash is nil.
func NewAdaptive(n int, hash func(slot uint32) uint64) *Order {
	if hash == nil {
		panic("lru: hash is nil: want a function")
	}
	return newOrder(new(eviction.Adaptive), n, hash)
}

func newOrder(policy eviction.Policy, n int, hash func(uint32) uint64) *Order {
	o := &Order{policy: policy, hash: hash}
	o.Resize(n)
	return o
}

// Len returns the number of slots in use.
func (o *Order) Len() int { return o.policy.Len() }

// Insert adds a slot, which was not in use, as the newest one, without a mark.
func (o *Order) Insert(slot uint32) {
	o.want("Insert", slot, false)
	o.policy.Insert(slot, o.hash(slot))
	o.used[slot] = true
}

// Mark notes that the key in a slot was used: Evict passes over the slot once more, up to
// three times. A mark is a hint: when two goroutines mark at the same moment, one mark may
// be lost.
func (o *Order) Mark(slot uint32) {
	o.want("Mark", slot, true)
	o.policy.Mark(slot)
}

// Remove frees a slot, whose key was removed.
func (o *Order) Remove(slot uint32) {
	o.want("Remove", slot, true)
	o.remove(slot)
}

// Evict frees the slot whose key should leave, and returns it, or false if none is in use.
// It moves marked slots on, 144 at most.
func (o *Order) Evict() (slot uint32, ok bool) {
	slot, ok = o.policy.Victim()
	if !ok {
		return 0, false
	}
	for o.policy.Promote(slot, o.hash(slot)) { // an Adaptive's second thought
		slot, _ = o.policy.Victim()
	}
	o.remove(slot)
	return slot, true
}

func (o *Order) remove(slot uint32) {
	o.policy.Remove(slot)
	o.used[slot] = false
}

// All returns an iterator over the slots in use, in the order of eviction, regardless of
// marks. The order must not change meanwhile.
func (o *Order) All() iter.Seq[uint32] { return o.policy.All() }

// Resize changes the number of slots to n and keeps the order. It panics if n is negative or
// above 2^31, or a slot from n on is in use.
func (o *Order) Resize(n int) {
	if n < 0 || int64(n) > 1<<31 {
		panic(fmt.Sprintf("lru: %d slots: want 0 to 2^31", n))
	}
	for slot := n; slot < len(o.used); slot++ {
		if o.used[slot] {
			panic(fmt.Sprintf("lru: Resize to %d slots: want slot %d free", n, slot))
		}
	}
	used := make([]bool, n)
	copy(used, o.used)
	o.used = used
	o.policy.Resize(n)
}

// want panics unless a slot is there, and is in use or not.
func (o *Order) want(method string, slot uint32, used bool) {
	switch {
	case int64(slot) >= int64(len(o.used)):
		panic(fmt.Sprintf("lru: %s of slot %d: want one below %d", method, slot, len(o.used)))
	case o.used[slot] && !used:
		panic(fmt.Sprintf("lru: %s of slot %d, which is in use: want a free one", method, slot))
	case !o.used[slot] && used:
		panic(fmt.Sprintf("lru: %s of slot %d, which is free: want one in use", method, slot))
	}
}
