package libs

import (
	"hash/maphash"
	"math"
	"math/bits"
	"unsafe"
)

// A limit does the least that a cache can: it is a hash table for one goroutine, without a
// lock, deadlines or statistics. Its cells hold keys and values, so most Gets take one cache
// line. At the capacity a new key overwrites the oldest one.
//
// Half of the cells are empty. A search goes on from cell to cell, and a deletion moves
// later keys back, so there are no tombstones (Knuth, The Art of Computer Programming,
// volume 3, section 6.4, algorithms L and R).
type limit[K Key, V any] struct {
	cells  []limitCell[K, V]
	empty  K    // the key of empty cells, which no case uses
	word   bool // keys are integers, hashed in place by one multiplication
	seed   uint64
	hash   func(K) uint64 // of other keys
	ring   []K            // the keys; once it is full, from oldest on
	oldest int
}

type limitCell[K Key, V any] struct {
	key   K
	value V
}

func newLimitUint64(c Config[uint64, uint64]) Cache[uint64, uint64] {
	l := &limit[uint64, uint64]{word: true, seed: maphash.Comparable(maphash.MakeSeed(), 0)}
	return l.init(c, math.MaxUint64)
}

func newLimitString(c Config[string, *uint64]) Cache[string, *uint64] {
	seed := maphash.MakeSeed()
	l := &limit[string, *uint64]{hash: func(key string) uint64 { return maphash.String(seed, key) }}
	return l.init(c, "")
}

func (l *limit[K, V]) init(c Config[K, V], empty K) Cache[K, V] {
	if c.Load != nil {
		return nil
	}
	l.cells = make([]limitCell[K, V], 2*c.Capacity)
	l.ring = make([]K, 0, c.Capacity)
	l.empty = empty
	for i := range l.cells {
		l.cells[i].key = empty
	}
	return l
}

// home returns the cell at which the search for a key begins.
func (l *limit[K, V]) home(key K) uint64 {
	var h uint64
	if l.word {
		hi, lo := bits.Mul64(*(*uint64)(unsafe.Pointer(&key))^l.seed, 0x9E3779B97F4A7C15)
		h = hi ^ lo
	} else {
		h = l.hash(key)
	}
	i, _ := bits.Mul64(h, uint64(len(l.cells)))
	return i
}

// next returns the cell after cell i.
func (l *limit[K, V]) next(i uint64) uint64 {
	if i++; i < uint64(len(l.cells)) {
		return i
	}
	return 0
}

func (l *limit[K, V]) Get(key K) (value V, ok bool) {
	for i := l.home(key); ; i = l.next(i) {
		switch c := &l.cells[i]; c.key {
		case key:
			return c.value, true
		case l.empty:
			return value, false
		}
	}
}

func (l *limit[K, V]) Set(key K, value V) {
	i := l.home(key)
	for ; l.cells[i].key != l.empty; i = l.next(i) {
		if l.cells[i].key == key {
			l.cells[i].value = value
			return
		}
	}
	l.cells[i] = limitCell[K, V]{key, value}
	if len(l.ring) < cap(l.ring) {
		l.ring = append(l.ring, key)
		return
	}
	l.remove(l.ring[l.oldest])
	l.ring[l.oldest] = key
	if l.oldest++; l.oldest == len(l.ring) {
		l.oldest = 0
	}
}

// remove removes a key, which must be present.
func (l *limit[K, V]) remove(key K) {
	hole := l.home(key)
	for l.cells[hole].key != key {
		hole = l.next(hole)
	}
	for i := l.next(hole); l.cells[i].key != l.empty; i = l.next(i) {
		if l.distance(l.home(l.cells[i].key), i) >= l.distance(hole, i) {
			l.cells[hole] = l.cells[i]
			hole = i
		}
	}
	l.cells[hole] = limitCell[K, V]{key: l.empty}
}

// distance returns how many cells after cell from cell to is.
func (l *limit[K, V]) distance(from, to uint64) uint64 {
	if to >= from {
		return to - from
	}
	return to + uint64(len(l.cells)) - from
}

func (l *limit[K, V]) Len() int { return len(l.ring) }
