package lru

// This file has what an Adaptive does with the weights of entries. Half of its rules need
// none: a heavy entry takes the place of many light ones, but how often keys are used says
// nothing of their weights.
//
// Small's share is of the weight. If it were of the entries, a few heavy new ones could
// drive all others out of main before small had more than its share.
//
// Light entries stay longer. An entry lighter than the mean loses its marks in main more
// slowly, as if only so much of a mark was taken as it weighs, and its key may come back
// later and still challenge main. So a byte gets more hits, as in GreedyDual-Size-Frequency
// (Cherkasova, "Improving WWW Proxies Performance with Greedy-Dual-Size-Frequency Caching
// Policy", 1998). Heavy entries are treated like those of the mean weight: they have most
// of the bytes, and to give them up sooner would cost more hits in bytes than it brings.

// maxLightness is by how much the mean weight exceeds that of an entry at most, for the
// rules above: lighter entries would keep their marks long after their last use.
const maxLightness = 4

// Weigh tells the weights of the entries, if what their owner limits is the weight: that of
// entry i is weights[i]. See [Policy].
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

// takeMark lowers the mark of entry i of queue q, which it passes over, and reports whether
// it was above zero. Of light entries in main it passes over some without lowering theirs.
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

// youth returns the age at which a key of the mean weight would be as good for main as that
// of entry i, which came back at an age.
func (a *Adaptive) youth(i uint32, age int) int64 {
	if a.weights == nil {
		return int64(age)
	}
	weight, mean := a.weightOf(i)
	return int64(age) * int64(weight) / int64(mean)
}
