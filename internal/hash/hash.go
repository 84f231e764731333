// Package hash hashes keys of any comparable type.
package hash

import (
	"fmt"
	"hash/maphash"
	"reflect"
	"runtime"
	"strings"
)

// A Hasher hashes keys with a seed of its own. Make one with [New].
type Hasher[K comparable] struct {
	// Hash returns the hash of a key. As a map does, it panics, and names the
	// type, if an interface in the key has a value that cannot be hashed. It is
	// not a method, as that would be one call more: too long to be inlined.
	Hash func(key K) uint64

	fallible bool // some keys cannot be hashed, or do not equal themselves
}

// New returns a Hasher with a new seed.
func New[K comparable]() Hasher[K] {
	seed := maphash.MakeSeed()
	return Hasher[K]{
		Hash:     func(key K) uint64 { return maphash.Comparable(seed, key) },
		fallible: fallible(reflect.TypeFor[K]()),
	}
}

// Try is Hash for keys that are to be found again. It returns an error
// for one that cannot be hashed, which names the type, and for one that does not
// equal itself, as NaN and what contains it.
func (h Hasher[K]) Try(key K) (uint64, error) {
	if h.fallible {
		return h.try(key)
	}
	return h.Hash(key), nil
}

func (h Hasher[K]) try(key K) (hash uint64, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case runtime.Error:
			err = fmt.Errorf("the key cannot be hashed: %s", strings.TrimPrefix(p.Error(), "runtime error: "))
		default:
			panic(p)
		}
	}()
	hash = h.Hash(key)
	if key != key {
		return 0, fmt.Errorf("the key %v does not equal itself", key)
	}
	return hash, nil
}

// fallible reports whether a type has values that cannot be hashed or do not equal
// themselves. Only interfaces and floating-point numbers can bring those in.
func fallible(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Interface, reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return true
	case reflect.Array:
		return fallible(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if fallible(t.Field(i).Type) {
				return true
			}
		}
	}
	return false
}
