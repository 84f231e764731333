package eviction

// lookahead is the number of entries for which memory is fetched at once.
const lookahead = 8

// A Next is an entry that is evicted soon, unless it is used. The owner of the slots sets
// Hash, the hash of the entry's key.
type Next struct {
	Entry uint32
	Hash  uint64
}

// A lookout is room for the entries that a queue evicts next.
type lookout [lookahead]Next

// oldest returns the entries without a mark among the oldest in the ring of a sentinel.
// Entry 0 is at position base. The result is valid until the next call.
func (o *lookout) oldest(l links, sentinel, base uint32, marks *Marks) []Next {
	n, met := 0, 0
	for p := l[sentinel].next; p != sentinel && met < lookahead; p = l[p].next {
		if p < base { // a checkpoint
			continue
		}
		met++
		if marks.get(p-base) == 0 {
			o[n].Entry = p - base
			n++
		}
	}
	return o[:n]
}
