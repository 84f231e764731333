package main

import (
	"context"
	"iter"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// A store is the part of a cache that the checker uses. Tests implement it with faults.
type store[K comparable, V any] interface {
	Get(key K) (V, bool)
	Peek(key K) (V, bool)
	Set(key K, value V)
	SetWithExpire(key K, value V, expire time.Duration)
	Touch(key K, expire time.Duration) bool
	GetOrSet(key K, value V) (V, bool)
	Del(key K) bool
	Expire(key K) bool
	Compute(key K, f func(V, bool) (V, cache.Op)) (V, bool)
	Take(key K, fetch func() (V, error)) (V, error)
	TakeCtx(ctx context.Context, key K, fetch func(context.Context) (V, error)) (V, error)
	Clear()
	Resize(limit int) error
	All() iter.Seq2[K, V]
	Len() int
	HotKeys() []cache.HotKey[K]
	Stats() stats.Snapshot
	Close(ctx context.Context) error
}

// An opener makes a store.
type opener[K comparable, V any] func(cache.Options[K, V]) store[K, V]

// computing is a cache whose Compute gives a new TTL, as all other stores do here.
type computing[K comparable, V any] struct {
	*cache.Cache[K, V]
	expire time.Duration
}

func (c computing[K, V]) Compute(key K, f func(V, bool) (V, cache.Op)) (V, bool) {
	return c.ComputeWithExpire(key, c.expire, f)
}

func openCache[K comparable, V any](o cache.Options[K, V]) store[K, V] {
	return computing[K, V]{cache.Must(o), o.Expire}
}

// A form makes keys and values from numbers, and numbers from values. The upper bits of a
// value are the number of its key.
type form[K comparable, V any] struct {
	key    func(i int) K
	value  func(id uint64) V
	number func(value V) uint64
}

const numberBits = 40 // of a value; the rest is its key

func idOf(key int, number uint64) uint64 { return uint64(key)<<numberBits | number }

func split(id uint64) (key int, number uint64) {
	return int(id >> numberBits), id & (1<<numberBits - 1)
}

// A point is a key of a struct type.
type point struct{ x, y int32 }

// A *parcel is a value of a pointer type.
type parcel struct {
	id uint64
	_  [3]uint64 // so that it is a kind of its own in memory
}

func plain(id uint64) uint64 { return id }

func wrapped(id uint64) *parcel { return &parcel{id: id} }

func unwrapped(p *parcel) uint64 {
	if p == nil {
		return 0
	}
	return p.id
}
