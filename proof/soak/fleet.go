package main

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// A subject is a target of any types.
type subject interface {
	batch(h *hand, m *mix, n int)
	measure()
	scan(whole bool)
	clear()
	resize(h *hand)
	audit()
	close()
}

// A form makes keys from numbers, and values from ids and back. The upper bits of an id are the
// number of the key.
type form[K comparable, V any] struct {
	key   func(i int) K
	value func(id uint64) V
	id    func(value V) uint64
}

const idBits = 40 // of each value of a key

func newID(i int, rng *rand.Rand) uint64 { return uint64(i)<<idBits | rng.Uint64()>>(64-idBits) }

func keyOf(id uint64) (i int) { return int(id >> idBits) }

// A point is a key of a struct type.
type point struct{ x, y int32 }

// A *parcel is a value of a pointer type.
type parcel struct {
	id uint64
	_  [3]uint64 // so that it is a kind of its own in memory
}

func numbers() form[uint64, uint64] {
	return form[uint64, uint64]{func(i int) uint64 { return uint64(i) }, plain, plain}
}

func points() form[point, uint64] {
	return form[point, uint64]{func(i int) point { return point{int32(i), int32(-i)} }, plain, plain}
}

func parcels() form[string, *parcel] {
	return form[string, *parcel]{
		func(i int) string { return fmt.Sprintf("key %06d", i) },
		func(id uint64) *parcel { return &parcel{id: id} },
		func(p *parcel) uint64 { return p.id },
	}
}

func plain(id uint64) uint64 { return id }

// fleet returns caches of many kinds. The first is used most.
func fleet(f *failure) []subject {
	type numbered = cache.Options[uint64, uint64]
	type named = cache.Options[string, *parcel]
	return []subject{
		newTarget(spec[uint64, uint64]{
			form: numbers(), size: 16_000, listens: true,
			options: numbered{Name: "large", Limit: 12_288, Policy: cache.Adaptive, Expire: 20 * time.Second, Ages: true, HotKeys: 10, WhatIf: true},
		}, openCache, f),
		newTarget(spec[uint64, uint64]{
			form: numbers(), size: 2000,
			options: numbered{Name: "roomy", Limit: 9000, Expire: 5 * time.Second, Jitter: 0.1, HotKeys: 100, WhatIf: true},
		}, openCache, f),
		newTarget(spec[point, uint64]{
			form: points(), size: 5000, listens: true,
			options: cache.Options[point, uint64]{Name: "ttl", Expire: 2 * time.Second}, callback: sometimes(16, useCache),
		}, openCache, f),
		newTarget(spec[string, *parcel]{
			form: parcels(), size: 64, listens: true,
			options: named{Name: "tiny", Limit: 16, Policy: cache.Adaptive, Expire: 40 * time.Millisecond}, callback: sometimes(64, panicking, exiting, useCache),
		}, openCache, f),
		newTarget(spec[uint64, uint64]{
			form: numbers(), size: 3000,
			options: numbered{Name: "forever"},
		}, openCache, f),
		newTarget(spec[string, *parcel]{
			form: parcels(), size: 1500, listens: true, weighs: true,
			options: named{Name: "weighed", MaxWeight: 20_000, Policy: cache.Adaptive, Expire: 500 * time.Millisecond, Jitter: 0.5}, callback: sometimes(64, panicking, useCache),
		}, openCache, f),
		newTarget(spec[uint64, uint64]{
			form: numbers(), size: 1000, listens: true,
			options: numbered{Name: "idle", Limit: 800, Idle: 50 * time.Millisecond, Expire: 300 * time.Millisecond}, callback: sometimes(32, useCache),
		}, openCache, f),
		newTarget(spec[uint64, uint64]{
			form: numbers(), size: 300,
			options: numbered{Name: "idlest", Idle: 30 * time.Millisecond, Jitter: 0.2},
		}, openCache, f),
		newTarget(spec[uint64, uint64]{
			form: numbers(), size: 12_000, listens: true, limits: []int{0, 50, 1000, 5000, 10_000, 11_000},
			options: numbered{Name: "resized", Limit: 10_000, Policy: cache.Adaptive, Expire: time.Second, Ages: true},
		}, openCache, f),
		newTarget(spec[string, *parcel]{
			form: parcels(), size: 600, listens: true,
			options: named{Name: "slow", Limit: 200, Expire: time.Second, Jitter: 0.3, Workers: 1}, callback: sometimes(64, slow, slow, useCache),
		}, openCache, f),
	}
}

// shares has the number of each subject as often as it is to be chosen.
var shares = []int{0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 4, 4, 5, 5, 6, 6, 7, 8, 8, 8, 9, 2, 1, 0, 0, 4, 5, 6, 3, 8}
