package main

import (
	"container/heap"
	"math"
)

// minHits returns the hits of the optimum with bypass: of its keys and the new one it
// keeps those that are used again soonest (Belady, 1966).
func minHits(keys []uint64, capacity int) (hits int) {
	next := nextUses(keys)
	kept := map[uint64]int{} // the next use of each
	var latest uses
	for i, key := range keys {
		if _, ok := kept[key]; ok {
			hits++
		}
		if next[i] == math.MaxInt {
			delete(kept, key)
			continue
		}
		kept[key] = next[i]
		heap.Push(&latest, use{next[i], key})
		for len(kept) > capacity {
			if u := heap.Pop(&latest).(use); kept[u.key] == u.at {
				delete(kept, u.key)
			}
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

type use struct {
	at  int
	key uint64
}

// uses is a heap with the latest use on top. It has old uses of keys too.
type uses []use

func (u uses) Len() int           { return len(u) }
func (u uses) Less(i, j int) bool { return u[i].at > u[j].at }
func (u uses) Swap(i, j int)      { u[i], u[j] = u[j], u[i] }
func (u *uses) Push(x any)        { *u = append(*u, x.(use)) }
func (u *uses) Pop() any {
	last := len(*u) - 1
	x := (*u)[last]
	*u = (*u)[:last]
	return x
}
