package main

import (
	"github.com/Yiling-J/theine-go"
	"github.com/dgraph-io/ristretto/v2"
	"github.com/hashicorp/golang-lru/arc/v2"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/maypok86/otter/v2"
	"github.com/pinwheel-cache/pinwheel/cache"
)

// A contender is a kind of cache. open returns a function that reports whether a key is
// present and stores it with its size if not, and one that closes the cache.
type contender struct {
	name   string
	open   func(room capacity) (access access, end func())
	weighs bool // its limit can be in bytes
}

type access func(key uint64, size uint32) (hit bool)

var contenders = []contender{
	{"LRU", func(room capacity) (access, func()) { return openPinwheel(room, cache.LRU) }, true},
	{"Adaptive", func(room capacity) (access, func()) { return openPinwheel(room, cache.Adaptive) }, true},
	{"otter", openOtter, true},
	{"theine", openTheine, true},
	{"ristretto", openRistretto, true},
	{"ARC", func(room capacity) (access, func()) {
		c, err := arc.NewARC[uint64, uint64](room.entries)
		return openAdder(c, err)
	}, false},
	{"2Q", func(room capacity) (access, func()) {
		c, err := lru.New2Q[uint64, uint64](room.entries)
		return openAdder(c, err)
	}, false},
}

// storing returns an access by get and, if that finds nothing, by set.
func storing[V any](get func(uint64) (V, bool), set func(key uint64, size uint32)) access {
	return func(key uint64, size uint32) bool {
		_, ok := get(key)
		if !ok {
			set(key, size)
		}
		return ok
	}
}

// sizeOf returns the weight of a value, which is the value itself.
func sizeOf(_ uint64, size uint32) uint32 { return size }

func openPinwheel(room capacity, p cache.Policy) (access, func()) {
	o := cache.Options[uint64, uint32]{Limit: room.entries, Policy: p}
	if room.bytes > 0 {
		o.Limit, o.MaxWeight, o.Weigh = 0, uint64(room.bytes), sizeOf
	}
	c := cache.Must(o)
	return storing(c.Get, c.Set), func() {}
}

func openOtter(room capacity) (access, func()) {
	o := otter.Options[uint64, uint32]{MaximumSize: room.entries, Executor: func(f func()) { f() }}
	if room.bytes > 0 {
		o.MaximumSize, o.MaximumWeight, o.Weigher = 0, uint64(room.bytes), sizeOf
	}
	c := otter.Must(&o)
	look := storing(c.GetIfPresent, func(key uint64, size uint32) { c.Set(key, size) })
	return func(key uint64, size uint32) bool {
		defer c.CleanUp()
		return look(key, size)
	}, func() { c.StopAllGoroutines() }
}

func openTheine(room capacity) (access, func()) {
	c, err := theine.NewBuilder[uint64, uint32](room.cost()).Build()
	if err != nil {
		panic(err)
	}
	return lookInto(c), c.Close
}

func openRistretto(room capacity) (access, func()) {
	c, err := ristretto.NewCache(&ristretto.Config[uint64, uint32]{
		NumCounters: int64(10 * room.entries), MaxCost: room.cost(), BufferItems: 64, IgnoreInternalCost: true,
	})
	if err != nil {
		panic(err)
	}
	return lookInto(c), c.Close
}

// cost is the limit of caches for which an entry without a size costs 1.
func (c capacity) cost() int64 {
	if c.bytes > 0 {
		return c.bytes
	}
	return int64(c.entries)
}

// A waiter is a cache that stores in the background; Wait waits for it.
type waiter interface {
	Get(key uint64) (uint32, bool)
	Set(key uint64, value uint32, cost int64) bool
	Wait()
}

func lookInto(c waiter) access {
	return storing(c.Get, func(key uint64, size uint32) {
		c.Set(key, size, int64(size))
		c.Wait()
	})
}

// An adder is a cache of golang-lru.
type adder interface {
	Get(key uint64) (uint64, bool)
	Add(key, value uint64)
}

func openAdder(c adder, err error) (access, func()) {
	if err != nil {
		panic(err)
	}
	return storing(c.Get, func(key uint64, _ uint32) { c.Add(key, key) }), func() {}
}
