// Package libs has the contenders: a small adaptor for each library, in a file of its own,
// and the table of all.
package libs

import (
	"time"
)

// A Key is a type of key that the cases use.
type Key interface{ uint64 | string }

// A Cache is the part of a library that every case needs.
type Cache[K Key, V any] interface {
	Get(key K) (V, bool)
	Set(key K, value V) // with the TTL of the Config
}

// A Config says what kind of cache a case needs.
type Config[K Key, V any] struct {
	Capacity int                // in entries
	TTL      time.Duration      // of every Set
	Load     func(K) (V, error) // what a Taker calls for a missing key; nil if the case takes nothing
}

// A New makes a cache, or returns nil if the library has no such cache.
type New[K Key, V any] func(Config[K, V]) Cache[K, V]

// A TTLSetter can give an entry a TTL of its own.
type TTLSetter[K Key, V any] interface {
	SetTTL(key K, value V, ttl time.Duration)
}

// A Toucher can restart the TTL of an entry without storing its value again. The ttl is that
// of the Config.
type Toucher[K Key] interface {
	Touch(key K, ttl time.Duration)
}

// A Taker can load a missing key, once for all callers that ask meanwhile.
type Taker[K Key, V any] interface {
	Take(key K) (V, error)
}

// A Lener can count the entries that it holds, expired ones included.
type Lener interface {
	Len() int
}

// Settle waits until a cache has done its deferred work.
func Settle(cache any) {
	if c, ok := cache.(interface{ Settle() }); ok {
		c.Settle()
	}
}

// Close ends the background work of a cache, if possible.
func Close(cache any) {
	if c, ok := cache.(interface{ Close() }); ok {
		c.Close()
	}
}

// A Library is a contender.
type Library struct {
	Name string

	// Unbounded says that the capacity is ignored: a lower bound, not a rival.
	Unbounded bool

	// Deferred says that a Set may be applied after it returned, or dropped.
	Deferred bool

	// Sole says that it is for one goroutine and ignores the TTL: a lower bound in the cases
	// of one thread.
	Sole bool

	Uint64 New[uint64, uint64]
	String New[string, *uint64]
}

// All lists the contenders in the order in which they are printed.
var All = []Library{
	{Name: "pinwheel", Uint64: newPinwheel[uint64, uint64], String: newPinwheel[string, *uint64]},
	{Name: "pinwheel-adaptive", Uint64: newPinwheelAdaptive[uint64, uint64], String: newPinwheelAdaptive[string, *uint64]},
	{Name: "otter", Uint64: newOtter[uint64, uint64], String: newOtter[string, *uint64]},
	{Name: "phuslu", Uint64: newPhuslu[uint64, uint64], String: newPhuslu[string, *uint64]},
	{Name: "ristretto", Deferred: true, Uint64: newRistretto[uint64, uint64], String: newRistretto[string, *uint64]},
	{Name: "go-zero", Uint64: none[uint64, uint64], String: newGoZero},
	{Name: "map+rwmutex", Unbounded: true, Uint64: newMap[uint64, uint64], String: newMapString},
	{Name: "limit", Sole: true, Uint64: newLimitUint64, String: newLimitString},
	{Name: "null", Unbounded: true, Deferred: true, Uint64: newNull[uint64, uint64], String: newNull[string, *uint64]},
}

// none is the New of a library that cannot have such keys.
func none[K Key, V any](Config[K, V]) Cache[K, V] { return nil }
