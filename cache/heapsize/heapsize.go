// Package heapsize weighs the entries of a cache in bytes of the heap, for the options Weigh and
// MaxWeight of package cache.
//
// It counts what an entry takes in the cache, and what its key and value point to, as the allocator
// rounds it up. With values of the usual kinds the sum over all entries is within 5 % of what the heap
// grows by. That is without garbage: with GOGC=100 the process takes up to twice as much.
package heapsize

import (
	"math"
	"reflect"
	"sync"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// Weigh returns a function for the option Weigh, of a cache with options o, that returns how many bytes of
// the heap an entry takes: at most 2³²-1. Set the options first that it depends on: Expire,
// Idle, Refresh, RefreshAfter, Grace, Ages and Policy. In a cache without
// Expire and Idle an entry with a TTL, as by ExpireBy, SetWithExpire or a load, takes 16 bytes more than Weigh says.
//
// The function follows pointers, slices, maps, strings and interfaces, also in fields that are not exported;
// what an entry points to twice counts once, cycles end, and lists may be of any length. A slice counts with its
// capacity, but what elements beyond its length point to does not. The function does not follow channels, functions,
// unsafe.Pointer, and so atomic.Pointer, nor pointers to time.Location, to what package unique has made, and
// to the types shared: name those here to which many entries point, such as the description of a message.
//
// It cannot see whether memory belongs to the entry alone:
//   - a constant string counts, though it is not on the heap;
//   - what several entries share counts for each;
//   - a part of a longer string or array counts as that part, though all of it stays in memory, and two parts
//     count once only where both begin at the same element;
//   - a map counts as if it grew to its length: neither its make nor deletions show.
//
// Keys and values without pointers need no look. Otherwise the function looks at all that an entry holds,
// about 15 ns for a string, 30 for a pointer, and 100 for an element of a map. Nobody may change a value meanwhile.
// It is safe for concurrent use.
func Weigh[K comparable, V any](o cache.Options[K, V], shared ...reflect.Type) func(key K, value V) uint32 {
	plans := newPlans(shared)
	k, v := plans.of(reflect.TypeFor[K]()), plans.of(reflect.TypeFor[V]())
	own := entryBytes(o)
	if !k.points && !v.points {
		return func(K, V) uint32 { return saturated(own) }
	}
	pool := sync.Pool{New: func() any {
		s := &scale[K, V]{walk: walk{plans: plans}}
		s.keyOf, s.valueOf = reflect.ValueOf(&s.key).Elem(), reflect.ValueOf(&s.value).Elem()
		return s
	}}
	return func(key K, value V) uint32 {
		s := pool.Get().(*scale[K, V])
		s.key, s.value = key, value
		n := own + s.walk.all(k, s.keyOf) + s.walk.all(v, s.valueOf)
		s.walk.reset()
		var noKey K
		var noValue V
		s.key, s.value = noKey, noValue // the pool must not keep them alive
		pool.Put(s)
		return saturated(n)
	}
}

func saturated(n uint64) uint32 { return uint32(min(n, math.MaxUint32)) }

// A scale has what one call needs, so that it allocates nothing, unless it meets a map, or very much.
type scale[K comparable, V any] struct {
	key            K
	value          V
	keyOf, valueOf reflect.Value // of key and value
	walk           walk
}

// slot is what the cache has for each entry, and for some that are free.
type slot[K comparable, V any] struct {
	_ int64 // the deadline
	_ K
	_ V
}

// entryBytes returns what the arrays of a cache take for an entry; CONTRIBUTING.md lists them.
func entryBytes[K comparable, V any](o cache.Options[K, V]) uint64 {
	const (
		index, order, weight = 7.1, 8.3, 4
		spare                = 1.14 // slots for an entry, in a full cache that weighs
	)
	n := float64(reflect.TypeFor[slot[K, V]]().Size()) + index + order + weight
	add := func(bytes float64, there bool) {
		if there {
			n += bytes
		}
	}
	add(6.1, o.Policy == cache.Adaptive)
	add(16, o.Expire > 0 || o.Idle > 0)
	add(8, o.Idle > 0)
	add(8, o.Refresh > 0 || o.RefreshAfter > 0 || o.Grace > 0)
	add(4, o.Ages)
	return uint64(math.Ceil(n * spare))
}
