package main

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"time"

	"github.com/pinwheel-cache/pinwheel/bench/libs"
	"github.com/pinwheel-cache/pinwheel/bench/load"
)

// batchSize is how many operations are done between two looks at the clock.
const batchSize = 256

// A workload is everything that the operations of a group need, made beforehand.
type workload[K libs.Key, V any] struct {
	kind    kind[K, V]
	random  *rand.Rand
	entries load.Entries[K, V]
	indices []uint32        // of the entries, in the order in which they are used
	ttls    []time.Duration // for refresh-random
	fresh   load.Entries[K, V]
	made    int // entries so far
}

// An operation is what a case does.
type operation[K libs.Key, V any] struct {
	able    func(libs.Cache[K, V]) bool // nil if every library can do it
	prepare func()                      // called before every round, if not nil
	grows   bool                        // an unbounded cache must not live on
	finds   bool                        // batch counts what it found

	// batch does batchSize operations from a place in the order on.
	batch func(c libs.Cache[K, V], at int) (found int)
}

func newWorkload[K libs.Key, V any](g group, k kind[K, V]) *workload[K, V] {
	w := &workload[K, V]{kind: k, random: rand.New(rand.NewPCG(1, 2))}
	length := max(1<<bits.Len(uint(8*g.capacity-1)), 16*batchSize)
	switch g.content {
	case zipf:
		w.made = 2 * g.capacity
		w.indices = load.Zipf(w.random, w.made, length)
	case live, full:
		w.made = g.capacity
		w.indices = load.Uniform(w.random, w.made, length)
	}
	w.entries = k.entries(0, w.made)
	return w
}

// config returns that of the caches of a group.
func (w *workload[K, V]) config(g group) libs.Config[K, V] {
	c := libs.Config[K, V]{Capacity: g.capacity, TTL: time.Hour}
	if g.content == live {
		c.Capacity *= 2
	}
	if g.takes() {
		value := w.entries.Values[0]
		c.Load = func(K) (V, error) { return value, nil }
	}
	return c
}

// fill fills a cache: with the keys of a Zipf distribution as a program would
// that looks for them, or with all keys.
func (w *workload[K, V]) fill(g group, c libs.Cache[K, V]) {
	keys, values := w.entries.Keys, w.entries.Values
	if g.content == zipf {
		for _, i := range w.indices {
			if _, ok := c.Get(keys[i]); !ok {
				c.Set(keys[i], values[i])
			}
		}
	} else {
		for i, key := range keys {
			c.Set(key, values[i])
		}
	}
	libs.Settle(c)
}

// operation returns the operation with a name.
func (w *workload[K, V]) operation(name string) operation[K, V] {
	switch name {
	case "hot":
		return w.hot()
	case "refresh-same":
		return w.refresh()
	case "refresh-random":
		return w.refreshRandom()
	case "touch":
		return w.touch()
	case "take-hit":
		return w.take()
	case "take-miss":
		return w.takeMissing()
	}
	var percent int
	if _, err := fmt.Sscanf(name, "reads%d", &percent); err != nil {
		panic("there is no operation " + name)
	}
	return w.mix(float64(percent) / 100)
}

// mix reads and writes.
func (w *workload[K, V]) mix(reads float64) operation[K, V] {
	ops := load.Mix(w.random, w.indices, reads)
	keys, values := w.entries.Keys, w.entries.Values
	return operation[K, V]{finds: reads > 0, batch: func(c libs.Cache[K, V], at int) (found int) {
		for _, op := range ops[at : at+batchSize] {
			i := op.Index()
			if op.Write() {
				c.Set(keys[i], values[i])
			} else if _, ok := c.Get(keys[i]); ok {
				found++
			}
		}
		return found
	}}
}

// hot reads one key, the first in the order, which is stored anew now and then in
// case the library has dropped it.
func (w *workload[K, V]) hot() operation[K, V] {
	i := w.indices[0]
	key, value := w.entries.Keys[i], w.entries.Values[i]
	return operation[K, V]{finds: true, batch: func(c libs.Cache[K, V], _ int) (found int) {
		for range batchSize {
			if _, ok := c.Get(key); ok {
				found++
			}
		}
		if found == 0 {
			c.Set(key, value)
		}
		return found
	}}
}

// refresh stores live entries again.
func (w *workload[K, V]) refresh() operation[K, V] {
	keys, values := w.entries.Keys, w.entries.Values
	return operation[K, V]{batch: func(c libs.Cache[K, V], at int) int {
		for _, i := range w.indices[at : at+batchSize] {
			c.Set(keys[i], values[i])
		}
		return 0
	}}
}

// refreshRandom stores live entries again, each with another TTL.
func (w *workload[K, V]) refreshRandom() operation[K, V] {
	keys, values := w.entries.Keys, w.entries.Values
	w.ttls = make([]time.Duration, len(w.indices))
	for i := range w.ttls {
		w.ttls[i] = time.Hour/2 + time.Duration(w.random.Int64N(int64(time.Hour)))
	}
	return operation[K, V]{able: can[libs.TTLSetter[K, V], K, V], batch: func(c libs.Cache[K, V], at int) int {
		setter := c.(libs.TTLSetter[K, V])
		for n, i := range w.indices[at : at+batchSize] {
			setter.SetTTL(keys[i], values[i], w.ttls[at+n])
		}
		return 0
	}}
}

// touch lets the TTL of live entries begin anew.
func (w *workload[K, V]) touch() operation[K, V] {
	keys := w.entries.Keys
	return operation[K, V]{able: can[libs.Toucher[K], K, V], batch: func(c libs.Cache[K, V], at int) int {
		toucher := c.(libs.Toucher[K])
		for _, i := range w.indices[at : at+batchSize] {
			toucher.Touch(keys[i], time.Hour)
		}
		return 0
	}}
}

// can reports whether a cache has what an operation calls.
func can[T any, K libs.Key, V any](c libs.Cache[K, V]) bool {
	_, ok := c.(T)
	return ok
}

// take takes keys that are there.
func (w *workload[K, V]) take() operation[K, V] {
	keys := w.entries.Keys
	return operation[K, V]{able: can[libs.Taker[K, V], K, V], finds: true, batch: func(c libs.Cache[K, V], at int) (found int) {
		taker := c.(libs.Taker[K, V])
		for _, i := range w.indices[at : at+batchSize] {
			if _, err := taker.Take(keys[i]); err == nil {
				found++
			}
		}
		return found
	}}
}

// takeMissing takes keys that were never used before.
func (w *workload[K, V]) takeMissing() operation[K, V] {
	prepare := func() {
		w.fresh = w.kind.entries(w.made, len(w.indices))
		w.made += len(w.indices)
	}
	return operation[K, V]{able: can[libs.Taker[K, V], K, V], prepare: prepare, grows: true, finds: true, batch: func(c libs.Cache[K, V], at int) (found int) {
		taker := c.(libs.Taker[K, V])
		for _, key := range w.fresh.Keys[at : at+batchSize] {
			if _, err := taker.Take(key); err == nil {
				found++
			}
		}
		return found
	}}
}
