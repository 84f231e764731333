package main

import (
	"container/heap"
	"math"
	"sort"
)

// minHits returns the hits of the optimum with bypass: of its keys and the new one it
// keeps those that are used again soonest (Belady, 1966).
func minHits(keys []uint64, capacity int) (hits int) {
	next := nextUses(keys)
	kept := make([]bool, len(keys)) // the next uses of its keys
	count := 0
	var latest uses
	for i := range keys {
		if kept[i] {
			hits++
			count--
		}
		if next[i] == math.MaxInt {
			continue
		}
		kept[next[i]] = true
		heap.Push(&latest, next[i])
		if count++; count > capacity {
			kept[heap.Pop(&latest).(int)] = false
			count--
		}
	}
	return hits
}

// nextUses returns for each access the next use of its key.
func nextUses(keys []uint64) []int {
	next, seen := make([]int, len(keys)), map[uint64]int{}
	for i := len(keys) - 1; i >= 0; i-- {
		next[i] = math.MaxInt
		if at, ok := seen[keys[i]]; ok {
			next[i] = at
		}
		seen[keys[i]] = i
	}
	return next
}

// uses is a heap with the latest use on top. Those that have passed are below all others.
type uses struct{ sort.IntSlice }

func (u *uses) Less(i, j int) bool { return u.IntSlice[i] > u.IntSlice[j] }
func (u *uses) Push(x any)         { u.IntSlice = append(u.IntSlice, x.(int)) }
func (u *uses) Pop() any {
	last := len(u.IntSlice) - 1
	x := u.IntSlice[last]
	u.IntSlice = u.IntSlice[:last]
	return x
}
