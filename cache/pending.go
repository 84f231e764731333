// This file has the loads and fences of a shard, in lists by hash, and says what makes a load stale, so
// that it is not stored. A change of a key makes its load stale and breaks its fences. The next caller
// that misses begins another load. So only the newest load of a key may be shared, and the results of
// the others go to their own callers and nowhere else. The lock of the shard, held for writing, guards
// all of it; but a reader may put up a fence, and take the spare load.

package cache

import (
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// pending has the loads and fences of a shard.
type pending[K comparable, V any] struct {
	loading int                        // loads under way
	loads   *loads[K, V]               // nil before the first
	fences  *fences                    // of Computes, which must know of changes of their keys; nil before the first
	spare   atomic.Pointer[load[K, V]] // an ended load, which the next one reuses; it may have been another shard's
}

// loads has the loads of a shard in lists by hash, each from the newest to the oldest. It is no map,
// as most shards have one load at a time, or none.
type loads[K comparable, V any] struct {
	lists []*load[K, V]
}

func (all *loads[K, V]) listOf(h uint64) **load[K, V] {
	return &all.lists[listNumber(h, len(all.lists))]
}

// any reports whether a load is under way.
func (p *pending[K, V]) any() bool { return p.loading > 0 }

// fenced reports whether there may be fences.
func (p *pending[K, V]) fenced() bool { return p.fences != nil }

// breakFences breaks the fences on keys with hash h.
func (p *pending[K, V]) breakFences(h uint64) {
	if p.fences != nil {
		p.fences.breakOn(h)
	}
}

// newest returns the newest load of a key with hash h, or nil.
func (p *pending[K, V]) newest(h uint64, key K) *load[K, V] {
	if p.loading == 0 {
		return nil
	}
	l := *p.loads.listOf(h)
	for l != nil && (l.hash != h || l.key != key) {
		l = l.older
	}
	return l
}

// current returns the load of a key with hash h that callers share, or nil.
func (p *pending[K, V]) current(h uint64, key K) *load[K, V] {
	if l := p.newest(h, key); l != nil && !l.stale {
		return l
	}
	return nil
}

// add makes a load the newest of its key.
func (p *pending[K, V]) add(l *load[K, V]) {
	switch {
	case p.loads == nil:
		p.setLists(fewLists)
	case p.loading > 2*len(p.loads.lists):
		p.setLists(4 * len(p.loads.lists))
	}
	list := p.loads.listOf(l.hash)
	if l.newer, l.older = nil, *list; l.older != nil {
		l.older.newer = l
	}
	*list = l
	p.loading++
}

// remove removes a load that has ended.
func (p *pending[K, V]) remove(l *load[K, V]) {
	if l.newer != nil {
		l.newer.older = l.older
	} else {
		*p.loads.listOf(l.hash) = l.older
	}
	if l.older != nil {
		l.older.newer = l.newer
	}
	l.newer, l.older = nil, nil
	p.loading--
	if n := len(p.loads.lists); n > fewLists && p.loading < n/8 {
		p.setLists(n / 4)
	}
}

// setLists makes n lists of the loads.
func (p *pending[K, V]) setLists(n int) {
	all := slices.Collect(p.all())
	p.loads, p.loading = &loads[K, V]{make([]*load[K, V], n)}, 0
	for _, l := range slices.Backward(all) { // so that the newest stays the newest
		p.add(l)
	}
}

// all returns all loads of the shard, also the stale ones. Those of a key come from the newest to
// the oldest.
func (p *pending[K, V]) all() iter.Seq[*load[K, V]] {
	return func(yield func(*load[K, V]) bool) {
		for i := 0; p.loading > 0 && i < len(p.loads.lists); i++ {
			for l := p.loads.lists[i]; l != nil; l = l.older {
				if !yield(l) {
					return
				}
			}
		}
	}
}

// addTo adds the loads to those that run. The lock must be held, at least for reading.
func (p *pending[K, V]) addTo(total *stats.Loads, now int64) {
	for l := range p.all() {
		if !l.member {
			total.Running++
		}
		total.Oldest = max(total.Oldest, time.Duration(now-l.began))
	}
}

// makeFences makes the lists of fences that the shard needs.
func (p *pending[K, V]) makeFences() *fences {
	if old := p.fences; old.needMoreLists() {
		n := fewLists
		if old != nil {
			n = 4 * len(old.lists)
		}
		p.fences = &fences{lists: make([]atomic.Pointer[fence], n)}
		old.moveTo(func(uint64) *fences { return p.fences })
	}
	return p.fences
}

// change breaks the fences on a key with hash h, which is about to change, and makes its load stale.
// Only the newest load of the key can be one that is not stale yet.
func (p *pending[K, V]) change(h uint64, key K) {
	p.fences.breakOn(h)
	if l := p.newest(h, key); l != nil {
		l.stale = true
	}
}

// evict is change for a key whose entry is about to be evicted. An eviction does not change the
// value, so a load of the key is not stale. But it is not stored if no caller waits for it. A Compute
// needs no fence for this, as it finds its entry gone.
func (p *pending[K, V]) evict(h uint64, key K) {
	if l := p.newest(h, key); l != nil {
		l.evicted = true
	}
}

// clear is change for all keys of the shard, whose entries are about to be removed. It need not
// break fences: a Compute finds its entry gone.
func (p *pending[K, V]) clear() {
	for l := range p.all() {
		l.stale = true
	}
}

// moveTo moves loads and fences to the shards in which their keys are after a division.
func (p *pending[K, V]) moveTo(of func(h uint64) *pending[K, V]) {
	for _, l := range slices.Backward(slices.Collect(p.all())) { // so that the newest stays the newest
		of(l.hash).add(l)
	}
	p.fences.moveTo(func(h uint64) *fences { return of(h).makeFences() })
	p.loads, p.loading, p.fences = nil, 0, nil
}

// spareLoad returns a load of before, or nil. It needs no lock.
func (p *pending[K, V]) spareLoad() *load[K, V] { return p.spare.Swap(nil) }

// keepSpare keeps a load that has ended for spareLoad. It needs no lock.
func (p *pending[K, V]) keepSpare(l *load[K, V]) { p.spare.Store(l) }
