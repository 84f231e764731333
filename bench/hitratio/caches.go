package main

import (
	"github.com/Yiling-J/theine-go"
	"github.com/dgraph-io/ristretto/v2"
	"github.com/hashicorp/golang-lru/arc/v2"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/maypok86/otter/v2"
	"github.com/pinwheel-cache/pinwheel/cache"
)

// A contender is a kind of cache. open returns what tells for a key whether it was
// there, and stores it if not, and what ends the cache.
type contender struct {
	name string
	open func(capacity int) (access func(key uint64) (hit bool), end func())
}

var contenders = []contender{
	{"LRU", func(n int) (func(uint64) bool, func()) { return openPinwheel(n, cache.LRU) }},
	{"Adaptive", func(n int) (func(uint64) bool, func()) { return openPinwheel(n, cache.Adaptive) }},
	{"otter", openOtter},
	{"theine", openTheine},
	{"ristretto", openRistretto},
	{"ARC", func(n int) (func(uint64) bool, func()) {
		c, err := arc.NewARC[uint64, uint64](n)
		return openAdder(c, err)
	}},
	{"2Q", func(n int) (func(uint64) bool, func()) {
		c, err := lru.New2Q[uint64, uint64](n)
		return openAdder(c, err)
	}},
	{"S3-FIFO", openS3FIFO},
}

func openPinwheel(n int, p cache.Policy) (func(uint64) bool, func()) {
	c := cache.Must(cache.Options[uint64, uint64]{Limit: n, Policy: p})
	return func(key uint64) bool {
		_, ok := c.Get(key)
		if !ok {
			c.Set(key, key)
		}
		return ok
	}, func() {}
}

func openOtter(n int) (func(uint64) bool, func()) {
	c := otter.Must(&otter.Options[uint64, uint64]{MaximumSize: n, Executor: func(f func()) { f() }})
	return func(key uint64) bool {
		_, ok := c.GetIfPresent(key)
		if !ok {
			c.Set(key, key)
		}
		c.CleanUp()
		return ok
	}, func() { c.StopAllGoroutines() }
}

func openTheine(n int) (func(uint64) bool, func()) {
	c, err := theine.NewBuilder[uint64, uint64](int64(n)).Build()
	if err != nil {
		panic(err)
	}
	return lookInto(c), c.Close
}

func openRistretto(n int) (func(uint64) bool, func()) {
	c, err := ristretto.NewCache(&ristretto.Config[uint64, uint64]{
		NumCounters: int64(10 * n), MaxCost: int64(n), BufferItems: 64, IgnoreInternalCost: true,
	})
	if err != nil {
		panic(err)
	}
	return lookInto(c), c.Close
}

// A waiter is a cache that stores in the background, and can be waited for.
type waiter interface {
	Get(key uint64) (uint64, bool)
	Set(key, value uint64, cost int64) bool
	Wait()
}

func lookInto(c waiter) func(uint64) bool {
	return func(key uint64) bool {
		_, ok := c.Get(key)
		if !ok {
			c.Set(key, key, 1)
			c.Wait()
		}
		return ok
	}
}

// An adder is a cache of golang-lru.
type adder interface {
	Get(key uint64) (uint64, bool)
	Add(key, value uint64)
}

func openAdder(c adder, err error) (func(uint64) bool, func()) {
	if err != nil {
		panic(err)
	}
	return func(key uint64) bool {
		_, ok := c.Get(key)
		if !ok {
			c.Add(key, key)
		}
		return ok
	}, func() {}
}
