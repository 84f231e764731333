package main

import "time"

// An op is the kind of an access.
type op uint8

const (
	opRead   op = iota // a get, and on a miss a set: an access in a log
	opLook             // a get that missed when it was recorded: a set follows if the program made one
	opStore            // a set
	opTouch            // a new TTL
	opRemove           // a removal by the program
	opClear            // of all keys
)

func (o op) get() bool { return o <= opLook }

// An access is one operation on one key.
type access struct {
	op   op
	hit  bool          // the recorded cache had the key
	key  uint64        // a hash of it, evenly spread
	at   time.Duration // from any origin; 0 if not known
	ttl  time.Duration // of what is stored; 0 is for ever
	size uint32        // of the value; 0 if not known
}

// A trace has all accesses of the input or, if there are too many, those to a sample of the
// keys. A cache scaled down in the same way behaves like the whole (Waldspurger, Park,
// Garthwaite and Ahmad, "Efficient MRC Construction with SHARDS", FAST 2015). The hash of
// a key decides whether it is kept, so it is kept always or never. The sample shrinks
// while the trace is read, so memory is bounded whatever the length of the input.
type trace struct {
	// Parallel arrays, an element per access. Those after ids are nil as long as all
	// their elements are zero.
	ids   []uint32
	ops   []op
	hits  []bool
	at    []time.Duration
	ttls  []time.Duration
	sizes []uint32

	hashes []uint64          // of the keys kept, by id
	byHash map[uint64]uint32 // the id of each
	below  uint64            // the keys with hash>>32 below it are kept

	maxAccesses, maxKeys int

	total      uint64  // gets of the input, kept or not
	kept       uint64  // gets in the trace
	inputShare float64 // the part of the keys that the input has: 1, unless it is a recording
}

const (
	allKeys = 1 << 32

	// The bounds of a trace: about 300 MB with time, size and TTL, and with the caches
	// that are tried.
	maxAccesses = 8 << 20
	maxKeys     = 1 << 20
)

func newTrace(maxAccesses, maxKeys int) *trace {
	return &trace{
		byHash:      make(map[uint64]uint32),
		below:       allKeys,
		maxAccesses: maxAccesses,
		maxKeys:     maxKeys,
		inputShare:  1,
	}
}

// rate returns the share of all keys that the trace has.
func (t *trace) rate() float64 { return float64(t.below) / allKeys * t.inputShare }

// sampled reports whether the trace lacks keys.
func (t *trace) sampled() bool { return t.rate() < 1 }

// add appends an access, if its key is kept.
func (t *trace) add(a access) {
	if a.op.get() {
		t.total++
	}
	t.keep(a)
	for t.below > 1 && (len(t.ids) > t.maxAccesses || len(t.hashes) > t.maxKeys) {
		t.halve()
	}
}

func (t *trace) keep(a access) {
	if a.op != opClear && a.key>>32 >= t.below {
		return
	}
	id := uint32(0)
	if a.op != opClear {
		id = t.idOf(a.key)
	}
	if a.op.get() {
		t.kept++
	}
	t.ids = append(t.ids, id)
	n := len(t.ids)
	t.ops = put(t.ops, n, a.op)
	t.hits = put(t.hits, n, a.hit)
	t.at = put(t.at, n, a.at)
	t.ttls = put(t.ttls, n, a.ttl)
	t.sizes = put(t.sizes, n, a.size)
}

func (t *trace) idOf(hash uint64) uint32 {
	id, ok := t.byHash[hash]
	if !ok {
		id = uint32(len(t.hashes))
		t.byHash[hash] = id
		t.hashes = append(t.hashes, hash)
	}
	return id
}

// halve drops half of the keys, by their hashes.
func (t *trace) halve() {
	t.below /= 2
	all := *t // is read in its arrays, ahead of what is written
	t.ids, t.ops, t.hits = t.ids[:0], t.ops[:0], t.hits[:0]
	t.at, t.ttls, t.sizes = t.at[:0], t.ttls[:0], t.sizes[:0]
	t.hashes, t.kept = nil, 0
	clear(t.byHash)
	for i := range all.ids {
		t.keep(all.access(i))
	}
}

// access returns access i. A clear has no key.
func (t *trace) access(i int) access {
	a := access{op: at(t.ops, i), hit: at(t.hits, i), at: at(t.at, i), ttl: at(t.ttls, i), size: at(t.sizes, i)}
	if a.op != opClear {
		a.key = t.hashes[t.ids[i]]
	}
	return a
}

// parts splits the trace into n traces by bits of the hash that nothing else uses. n must
// be a power of two.
func (t *trace) parts(n int) []*trace {
	parts := make([]*trace, n)
	for i := range parts {
		parts[i] = newTrace(t.maxAccesses, t.maxKeys)
	}
	for i := range t.ids {
		a := t.access(i)
		for k, p := range parts {
			if a.op == opClear || a.key%uint64(n) == uint64(k) {
				p.add(a)
			}
		}
	}
	for _, p := range parts {
		p.total, p.inputShare = t.total, t.rate()/float64(n)
	}
	return parts
}

// put makes v element n-1 of a column.
func put[T comparable](column []T, n int, v T) []T {
	var zero T
	switch {
	case column != nil:
		return append(column, v)
	case v == zero:
		return nil
	}
	column = make([]T, n, 2*n)
	column[n-1] = v
	return column
}

// at returns element i of a column.
func at[T any](column []T, i int) (v T) {
	if column != nil {
		v = column[i]
	}
	return v
}
