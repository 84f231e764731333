package eviction

// An Adaptive whose entries have weights follows two more rules.
//
// Small has its share of the weight. If it had a share of the entries, a few heavy new ones
// could drive all others out of main before small has more than its share.
//
// Light entries stay longer. In main an entry lighter than the mean loses its marks more
// slowly: at half the mean, every second one keeps its mark. Its key may also come back later
// and still challenge main. So each byte has more hits, as in GreedyDual-Size-Frequency
// (Cherkasova, "Improving WWW Proxies Performance with Greedy-Dual-Size-Frequency Caching
// Policy", 1998). Entries heavier than the mean count as if they had the mean weight. They have
// most of the bytes: if they were evicted sooner, hits would be more by number, but fewer by bytes.

// Every entry counts as at least the mean weight divided by maxLightness. Otherwise tiny entries
// would keep their marks long after their last use.
const maxLightness = 4

// Weigh sets the weights of the entries, if their owner limits the weight: entry i weighs
// weights[i]. The slice stays the owner's. See [Policy].
func (a *Adaptive) Weigh(weights []uint32) { a.weights = weights }

// Reweigh notes that entry i, which must be in the order, is about to weigh weight.
func (a *Adaptive) Reweigh(i, weight uint32) {
	a.weight[a.queueOf(i+firstEntry)] += uint64(weight) - uint64(a.weights[i])
}

// count adds the weight of entry i to that of queue q, or subtracts it if the sign is -1.
func (a *Adaptive) count(q, i uint32, sign int64) {
	if a.weights != nil {
		a.weight[q] += uint64(sign * int64(a.weights[i]))
	}
}

// smallLen returns the length of small, to be compared with the target. With weights it is how
// many entries of the mean weight would weigh as much as small.
func (a *Adaptive) smallLen() int {
	if a.weights == nil || a.len[small] == 0 {
		return a.len[small]
	}
	return int(a.weight[small] / a.meanWeight())
}

// slack returns by how many entries small may exceed its target. If small is longer, main has less
// than its share, and admits every key that came back. With weights the slack is larger, as the
// number of entries varies.
func (a *Adaptive) slack() int {
	if a.weights == nil {
		return 2
	}
	return 2 + a.slots/200
}

// meanWeight returns the mean weight of the entries. There must be at least one.
func (a *Adaptive) meanWeight() uint64 {
	return (a.weight[small] + a.weight[main]) / uint64(a.Len())
}

// weightOf returns the weight that entry i counts as, and the mean weight.
func (a *Adaptive) weightOf(i uint32) (weight, mean uint64) {
	mean = a.meanWeight()
	return min(max(uint64(a.weights[i]), mean/maxLightness), mean), mean
}

// takeMark reports whether entry i of queue q has a mark. It lowers the mark in small, and fades
// the entry in main. With weights it fades an entry of main only when the marked entries that it
// has passed over since then weigh as much as the mean together.
func (a *Adaptive) takeMark(q, i uint32) bool {
	if q == small {
		return a.marks.take(i)
	}
	if !a.marks.has(i) {
		return false
	}
	if a.weights != nil {
		weight, mean := a.weightOf(i)
		if a.passed += weight; a.passed < mean {
			return true
		}
		a.passed -= mean
	}
	a.fade(i)
	return true
}

// youth returns the age at which the key of entry i came back, less for a light entry, in
// proportion to its weight.
func (a *Adaptive) youth(i uint32, age int) int64 {
	if a.weights == nil {
		return int64(age)
	}
	weight, mean := a.weightOf(i)
	return int64(age) * int64(weight) / int64(mean)
}
