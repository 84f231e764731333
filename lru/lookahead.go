package lru

// lookahead is the number of entries for which memory is fetched at once.
const lookahead = 8

// A Next is an entry that is to be evicted soon, and the hash of its key, which the owner
// of the slots sets.
type Next struct {
	Entry uint32
	Hash  uint64
}

// A lookout says which entries a queue gives up next, a few at a time.
type lookout struct {
	left int // entries that must leave the oldest end before it returns more
	next [lookahead]Next
}

// oldest returns those of the oldest entries in the ring of a sentinel that have no mark,
// or none if it returned them already. Entry 0 is at position first. What it returns is
// valid until the next call.
func (o *lookout) oldest(l links, sentinel, first uint32, marks *Marks) []Next {
	if o.left > 0 {
		return nil
	}
	o.left = lookahead
	n, met := 0, 0
	for p := l[sentinel].next; p != sentinel && met < lookahead; p = l[p].next {
		if p < first { // a checkpoint
			continue
		}
		met++
		if marks.get(p-first) == 0 {
			o.next[n].Entry = p - first
			n++
		}
	}
	return o.next[:n]
}
