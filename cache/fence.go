// This file has fences, by which a Compute finds that its key was changed.

package cache

import (
	"math/bits"
	"sync/atomic"
)

// A fence guards a result that is computed outside the lock from the old value of a
// key, by the function of a Compute. A store or Del of the key breaks the fence. Then the result is
// not stored, as it would undo the change. Eviction, expiry and Clear need not break it: Compute
// finds the entry gone, or its fence broken by a store that brought the key back. For a key
// without a value, a load that becomes stale is what a fence is here.
//
// The lock of the shard, held for writing, guards broken, own and, in a list, next.
type fence struct {
	hash      uint64 // of the key; a change of another key with this hash breaks the fence too
	goroutine uint64 // of the Compute; 0 if it does not check that
	broken    bool
	own       bool   // the goroutine of the Compute broke it
	next      *fence // in its list
}

// breakOff breaks the fence. The first change decides about own.
func (f *fence) breakOff() {
	if !f.broken {
		f.broken = true
		f.own = f.goroutine != 0 && f.goroutine == goroutineID()
	}
}

// fences has the fences of a shard, in lists by hash. A reader may put one up; all else needs the
// lock of the shard for writing.
type fences struct {
	lists []atomic.Pointer[fence]
	up    atomic.Int64          // how many there are
	spare atomic.Pointer[fence] // one that was taken down, which the next Compute reuses
}

func (all *fences) listOf(h uint64) *atomic.Pointer[fence] {
	return &all.lists[listNumber(h, len(all.lists))]
}

// needMoreLists reports whether there should be more lists.
func (all *fences) needMoreLists() bool { return all == nil || int(all.up.Load()) > 2*len(all.lists) }

// put puts up a new fence, for a key with hash h.
func (all *fences) put(h, goroutine uint64) *fence {
	f := all.spare.Swap(nil)
	if f == nil {
		f = new(fence)
	}
	*f = fence{hash: h, goroutine: goroutine}
	all.add(f)
	return f
}

// add puts up a fence that is in no list.
func (all *fences) add(f *fence) {
	all.up.Add(1)
	list := all.listOf(f.hash)
	for {
		f.next = list.Load()
		if list.CompareAndSwap(f.next, f) {
			return
		}
	}
}

// remove takes a fence down.
func (all *fences) remove(f *fence) {
	list := all.listOf(f.hash)
	if first := list.Load(); first == f {
		list.Store(f.next)
	} else {
		for first.next != f {
			first = first.next
		}
		first.next = f.next
	}
	if all.up.Add(-1) == 0 && len(all.lists) > fewLists {
		all.lists = make([]atomic.Pointer[fence], fewLists)
	}
}

// breakOn breaks the fences on keys with hash h.
func (all *fences) breakOn(h uint64) {
	if all == nil {
		return
	}
	for f := all.listOf(h).Load(); f != nil; f = f.next {
		if f.hash == h {
			f.breakOff()
		}
	}
}

// moveTo adds each fence to other fences.
func (all *fences) moveTo(other func(h uint64) *fences) {
	for i := 0; all != nil && i < len(all.lists); i++ {
		for f := all.lists[i].Load(); f != nil; {
			next := f.next
			other(f.hash).add(f)
			f = next
		}
	}
}

// fewLists is the least number of lists, of loads or fences. When there are more than two loads or
// fences for each list, the lists become four times as many; when there are few again, fewer.
const fewLists = 8

// listNumber returns in which of so many lists a load or fence with hash h is. It uses the upper bits
// of the hash, which choose neither the shard nor a group of its index.
func listNumber(h uint64, lists int) uint64 {
	i, _ := bits.Mul64(h, uint64(lists))
	return i
}
