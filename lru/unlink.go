package lru

// PrefetchRemove reads what Remove needs of entry i, which is in the order: its neighbours.
func (o *Order) PrefetchRemove(i uint32) uint64 { return o.links.fetch(i + 1) }

// PrefetchRemove reads what Remove needs of entry i, which is in the order: its neighbours.
func (a *Adaptive) PrefetchRemove(i uint32) uint64 { return a.links.fetch(i + firstEntry) }

// fetch reads the neighbours of position p.
func (l links) fetch(p uint32) uint64 {
	at := l[p]
	return uint64(l[at.older()].prev + l[at.next].next)
}
