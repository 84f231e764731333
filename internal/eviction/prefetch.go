package eviction

// PrefetchRemove reads what Remove needs of entry i, which is in the order: its neighbours.
func (o *Order) PrefetchRemove(i uint32) uint64 { return o.links.prefetch(i + 1) }

// PrefetchRemove reads what Remove needs of entry i, which is in the order: its neighbours.
func (a *Adaptive) PrefetchRemove(i uint32) uint64 { return a.links.prefetch(i + firstEntry) }

// prefetch reads the neighbours of position p.
func (l links) prefetch(p uint32) uint64 {
	at := l[p]
	return uint64(l[at.older()].prev + l[at.next].next)
}
