// This file has what is under way for the keys of a shard: loads, also the stale ones, in lists by
// hash, and fences. Only the newest load of a key may be shared. A change of the key makes it stale, and
// breaks the fences; then the next caller that misses begins another load. So the older ones are stale:
// their results go to their own callers and nowhere else. The lock of the shard guards all of it, held
// for writing; a reader may put up a fence, and take the spare load.

package cache

import (
	"iter"
	"slices"
	"sync/atomic"
)

// A pending has the loads and fences of a shard.
type pending[K comparable, V any] struct {
	loading int                        // loads under way
	loads   *loads[K, V]               // nil before the first
	fences  *fences                    // who must know of a change of their key; nil before the first Compute
	spare   atomic.Pointer[load[K, V]] // for the next load; it may be of another shard
}

// A loads has lists of loads by hash, each from the newest to the oldest. No map: most shards have one
// load at a time, or none.
type loads[K comparable, V any] struct {
	lists []*load[K, V]
}

func (all *loads[K, V]) listOf(h uint64) **load[K, V] {
	return &all.lists[listNumber(h, len(all.lists))]
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

// all returns the loads of the shard, also the stale ones: those of a key from the newest to the
// oldest.
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

// makeFences makes the lists of fences that the shard needs.
func (p *pending[K, V]) makeFences() *fences {
	if old := p.fences; old.crowded() {
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
// Of the loads of the key only the newest may not be stale yet.
func (p *pending[K, V]) change(h uint64, key K) {
	p.fences.breakOn(h)
	if l := p.newest(h, key); l != nil {
		l.stale = true
	}
}

// evict is change for a key whose entry is about to be evicted. An eviction
// does not change the value, so a load of the key goes on; but if no caller waits for it,
// it is not stored. A Compute finds its entry gone.
func (p *pending[K, V]) evict(h uint64, key K) {
	if l := p.newest(h, key); l != nil {
		l.evicted = true
	}
}

// clear is change for all keys of the shard, whose entries are about to be removed. A Compute
// finds its entry gone.
func (p *pending[K, V]) clear() {
	for l := range p.all() {
		l.stale = true
	}
}

// moveTo moves loads and fences to the shards to which their keys belong by now.
func (p *pending[K, V]) moveTo(of func(h uint64) *pending[K, V]) {
	for _, l := range slices.Backward(slices.Collect(p.all())) { // so that the newest stays the newest
		of(l.hash).add(l)
	}
	p.fences.moveTo(func(h uint64) *fences { return of(h).makeFences() })
	p.loads, p.loading, p.fences = nil, 0, nil
}
