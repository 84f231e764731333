package eviction

// FetchRemove reads what Remove needs of entry i, which is in the order: its neighbours.
func (o *Order) FetchRemove(i uint32) uint64 { return o.links.fetch(i + 1) }

// FetchRemove reads what Remove needs of entry i, which is in the order: its neighbours.
func (a *Adaptive) FetchRemove(i uint32) uint64 { return a.links.fetch(i + firstEntry) }

// fetch reads the neighbours of position p.
func (l links) fetch(p uint32) uint64 {
	at := l[p]
	return uint64(l[at.older()].prev + l[at.next].next)
}
