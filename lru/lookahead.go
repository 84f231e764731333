package lru

// lookahead is the number of entries for which memory is fetched at once.
const lookahead = 8

// A lookout says which entries a queue gives up next, a few at a time.
type lookout struct {
	left int // entries that must leave the oldest end before it returns more
	next [lookahead]uint32
}

// oldest returns those of the oldest entries in the ring of a sentinel that have no mark,
// or none if it returned them already. Entry 0 is at position first. What it returns is
// valid until the next call.
func (o *lookout) oldest(l links, sentinel, first uint32, marks *Marks) []uint32 {
	if o.left > 0 {
		return nil
	}
	o.left = lookahead
	n, p := 0, l[sentinel].next
	for range lookahead {
		if p == sentinel {
			break
		}
		if marks.get(p-first) == 0 {
			o.next[n] = p - first
			n++
		}
		p = l[p].next
	}
	return o.next[:n]
}
