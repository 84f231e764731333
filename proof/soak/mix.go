package main

import "math/rand/v2"

// An op is an operation of a cache that a worker chooses.
type op uint8

const (
	opGet op = iota
	opPeek
	opSet
	opSetTTL
	opTouch
	opDel
	opGetOrSet
	opCompute
	opTake
	opTakeCtx
	opLen
	ops
)

var opNames = [ops]string{"get", "peek", "set", "ttl", "touch", "del", "getorset", "compute", "take", "takectx", "len"}

// A mix is how often each op is chosen, in parts of 256.
type mix [256]op

// mixOf returns a mix with these parts; the rest is get.
func mixOf(parts map[op]int) *mix {
	var m mix
	i := 0
	for o := op(0); o < ops; o++ { // not the order of the map, so that a seed repeats its run
		for range parts[o] {
			m[i] = o
			i++
		}
	}
	return &m
}

func (m *mix) choose(rng *rand.Rand) op { return m[rng.Uint32()%256] }

var (
	readMostly = mixOf(map[op]int{opPeek: 6, opSet: 3, opTouch: 2, opTake: 5, opLen: 1})
	writeHeavy = mixOf(map[op]int{opSet: 90, opSetTTL: 30, opDel: 20, opGetOrSet: 20, opCompute: 20, opTake: 10, opLen: 1})
	refreshing = mixOf(map[op]int{opTouch: 190, opSet: 10, opSetTTL: 4, opTake: 4})
	expiring   = mixOf(map[op]int{opSetTTL: 110, opTouch: 20, opTake: 20})
	loading    = mixOf(map[op]int{opTake: 100, opTakeCtx: 40, opDel: 20, opSet: 6})
	everything = mixOf(map[op]int{opPeek: 8, opSet: 30, opSetTTL: 24, opTouch: 30, opDel: 10, opGetOrSet: 16, opCompute: 16, opTake: 16, opTakeCtx: 4, opLen: 2})

	callbackMix = mixOf(map[op]int{opPeek: 16, opSet: 60, opSetTTL: 10, opTouch: 20, opDel: 20, opGetOrSet: 10, opTakeCtx: 10})
)

// A hand is the state of one worker goroutine.
type hand struct {
	rng        *rand.Rand
	inCallback bool
	together   bool // values with a TTL of their own expire at the same moments
	counts     [ops]uint64
}
