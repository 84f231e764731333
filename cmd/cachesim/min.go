package main

import (
	"math"
	"math/bits"
	"time"
)

// simulateMin replays a trace through the clairvoyant optimum, MIN (Belády, "A study
// of replacement algorithms for a virtual-storage computer", 1966), with bypass: a key
// whose next get comes after those of all entries is not stored. It is exact for a limit
// of entries without TTLs. With TTLs or removals it need not be the best policy.
//
// Its state is the set of the numbers of the next gets of its entries. So an access is a
// hit if its own number is in the set, and the victim is the highest number.
func simulateMin(t *trace, limit int, ttls bool) counts {
	next := nextGets(t)
	var c counter
	have := newMoments(len(t.ids))
	count := 0
	var deadlines []time.Duration // by key
	if ttls {
		deadlines = make([]time.Duration, len(t.hashes))
	}
	for i, id := range t.ids {
		op := at(t.ops, i)
		if !op.get() && op != opStore {
			continue
		}
		hit := have.has(i)
		if hit {
			have.remove(i)
			count--
		}
		c.count(t, i, hit)
		if !hit && op == opLook {
			continue // a set follows, if the program made one
		}
		if !hit && deadlines != nil {
			deadlines[id] = deadline(at(t.at, i), at(t.ttls, i))
		}
		next := next[i]
		if next == never || have.has(int(next)) || deadlines != nil && at(t.at, int(next)) >= deadlines[id] {
			continue
		}
		have.add(int(next))
		if count++; count > limit {
			have.remove(have.last())
			count--
		}
	}
	return c.counts
}

// never is the next get of a key that has none.
const never = math.MaxUint32

// nextGets returns for each access of a trace the number of the next get of its key. It
// is never if there is none, or if the key is removed before.
func nextGets(t *trace) []uint32 {
	next := make([]uint32, len(t.ids))
	coming := make([]uint32, len(t.hashes)) // by key
	for i := range coming {
		coming[i] = never
	}
	for i := len(t.ids) - 1; i >= 0; i-- {
		id, op := t.ids[i], at(t.ops, i)
		if op == opClear {
			for k := range coming {
				coming[k] = never
			}
			continue
		}
		next[i] = coming[id]
		switch {
		case op.get():
			coming[id] = uint32(i)
		case op == opRemove:
			coming[id] = never
		}
	}
	return next
}

// moments is a set of numbers from 0 up to a size: a tree of bits, in which each bit says
// whether the word below it has a bit set.
type moments [][]uint64

func newMoments(size int) moments {
	var m moments
	for n := size; n > 1 || m == nil; {
		n = (n + 63) / 64
		m = append(m, make([]uint64, n))
	}
	return m
}

func (m moments) has(i int) bool { return m[0][i/64]>>(i%64)&1 != 0 }

func (m moments) add(i int) {
	for _, words := range m {
		words[i/64] |= 1 << (i % 64)
		i /= 64
	}
}

func (m moments) remove(i int) {
	for _, words := range m {
		words[i/64] &^= 1 << (i % 64)
		if words[i/64] != 0 {
			return
		}
		i /= 64
	}
}

// last returns the highest number of the set, which must not be empty.
func (m moments) last() int {
	i := 0
	for level := len(m) - 1; level >= 0; level-- {
		i = i*64 + bits.Len64(m[level][i]) - 1
	}
	return i
}
