package lru

// An Adaptive whose entries have weights follows two more rules.
//
// Small has its share of the weight. If it had a share of the entries, a few heavy new ones
// could drive all others out of main before small has more than its share.
//
// Light entries stay longer. In main an entry lighter than the mean loses its marks more
// slowly: of those that weigh half as much, every second one keeps its mark. And its key may
// come back later and still challenge main. So a byte has more hits, as in
// GreedyDual-Size-Frequency (Cherkasova, "Improving WWW Proxies Performance with
// Greedy-Dual-Size-Frequency Caching Policy", 1998). Entries heavier than the mean count
// like those of the mean weight: they have most of the bytes, so giving them up sooner would
// cost more bytes in hits than it brings hits.

// maxLightness bounds how light an entry counts: the mean weight divided by it. With less,
// tiny entries would keep their marks long after their last use.
const maxLightness = 4

// Weigh sets the weights of the entries, if their owner limits the weight: entry i has
// weights[i]. The slice stays the owner's. See [Policy].
func (a *Adaptive) Weigh(weights []uint32) { a.weights = weights }

// Reweigh notes that entry i, which must be in the order, is about to weigh weight.
func (a *Adaptive) Reweigh(i, weight uint32) {
	a.weight[a.queueOf(i+firstEntry)] += uint64(weight) - uint64(a.weights[i])
}

// count counts the weight of entry i, which joins queue q or, if sign is -1, leaves it.
func (a *Adaptive) count(q, i uint32, sign int64) {
	if a.weights != nil {
		a.weight[q] += uint64(sign * int64(a.weights[i]))
	}
}

// smallLen returns the length of small, to be compared with the target: how many entries of
// the mean weight would weigh as much.
func (a *Adaptive) smallLen() int {
	if a.weights == nil || a.len[small] == 0 {
		return a.len[small]
	}
	return int(a.weight[small] / a.meanWeight())
}

// slack returns by how many entries small must exceed its target for main to admit every key
// that came back, as it has less than its share. With weights the number of entries varies.
func (a *Adaptive) slack() int {
	if a.weights == nil {
		return 2
	}
	return 2 + a.slots/200
}

// meanWeight returns the mean weight of the entries, of which there must be one.
func (a *Adaptive) meanWeight() uint64 {
	return (a.weight[small] + a.weight[main]) / uint64(a.Len())
}

// weightOf returns the weight of entry i, within the bounds of the rules, and the mean.
func (a *Adaptive) weightOf(i uint32) (weight, mean uint64) {
	mean = a.meanWeight()
	return min(max(uint64(a.weights[i]), mean/maxLightness), mean), mean
}

// takeMark reports whether entry i of queue q has a mark, and lowers that: of light entries
// in main only so often that the entries passed over for each mark weigh the mean together.
func (a *Adaptive) takeMark(q, i uint32) bool {
	if a.weights == nil || q == small || a.marks.get(i) == 0 {
		return a.marks.take(i)
	}
	weight, mean := a.weightOf(i)
	if a.passed += weight; a.passed < mean {
		return true
	}
	a.passed -= mean
	return a.marks.take(i)
}

// youth returns the age of the key of entry i when it came back, lower for a light entry: in
// the same proportion as its weight.
func (a *Adaptive) youth(i uint32, age int) int64 {
	if a.weights == nil {
		return int64(age)
	}
	weight, mean := a.weightOf(i)
	return int64(age) * int64(weight) / int64(mean)
}
