// Package load makes the keys, values and sequences of operations of the cases before they
// run.
package load

import (
	"fmt"
)

// Entries are keys and the values that belong to them.
type Entries[K, V any] struct {
	Keys   []K
	Values []V
}

// Uint64s returns n entries with numbers from first on as keys and values.
func Uint64s(first, n int) Entries[uint64, uint64] {
	e := Entries[uint64, uint64]{make([]uint64, n), make([]uint64, n)}
	for i := range n {
		e.Keys[i] = uint64(first + i)
		e.Values[i] = uint64(first + i)
	}
	return e
}

// Strings returns n entries with keys of 20 bytes, and pointers to the numbers
// from first on as values.
func Strings(first, n int) Entries[string, *uint64] {
	e := Entries[string, *uint64]{make([]string, n), make([]*uint64, n)}
	for i := range n {
		e.Keys[i] = fmt.Sprintf("key:%016d", first+i)
		value := uint64(first + i)
		e.Values[i] = &value
	}
	return e
}
