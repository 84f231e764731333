// Package codec has ready-made ways to turn entries of a cache into bytes and
// back, for its Save and Restore:
//
//	encode, decode := codec.JSON[string, *User]()
//	err := users.SaveFile(ctx, "users.cache", encode)
//
// JSON and Gob see exported fields only; what a type keeps in others is lost
// without an error. For types where that matters, and where speed does, write the
// two functions by hand: one that appends to a slice need not allocate.
package codec

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"fmt"
)

// JSON returns functions that write an entry as a JSON array of its key and its
// value, and read one. They keep no state and are safe for concurrent use.
func JSON[K comparable, V any]() (encode func(dst []byte, key K, value V) ([]byte, error), decode func([]byte) (K, V, error)) {
	return encodeJSON[K, V], decodeJSON[K, V]
}

func encodeJSON[K comparable, V any](dst []byte, key K, value V) ([]byte, error) {
	b, err := json.Marshal([2]any{key, value})
	return append(dst, b...), err
}

// decodeJSON parses once: an element that holds a pointer is decoded into what that
// points to, and the slice gets as many elements as the array has.
func decodeJSON[K comparable, V any](b []byte) (key K, value V, err error) {
	parts := []any{&key, &value}
	if err := json.Unmarshal(b, &parts); err != nil {
		return key, value, err
	}
	if len(parts) != 2 {
		return key, value, fmt.Errorf("codec: an array of %d: want a key and a value", len(parts))
	}
	return key, value, nil
}

// Gob returns functions that write entries with package encoding/gob, and read
// them. The entries of a snapshot are one gob stream, which describes the types
// once: encode is for one Save, and decode for one Restore, of all its entries in
// their order. Neither is safe for concurrent use.
//
// Concrete types in interfaces have to be registered with [gob.Register]. A
// pointer to the zero value of a basic type comes back as nil.
func Gob[K comparable, V any]() (encode func(dst []byte, key K, value V) ([]byte, error), decode func([]byte) (K, V, error)) {
	var out, in bytes.Buffer
	encoder, decoder := gob.NewEncoder(&out), gob.NewDecoder(&in)
	encode = func(dst []byte, key K, value V) ([]byte, error) {
		out.Reset()
		err := encoder.Encode(&entry[K, V]{key, value})
		return append(dst, out.Bytes()...), err
	}
	decode = func(b []byte) (K, V, error) {
		in.Reset()
		in.Write(b)
		var e entry[K, V]
		err := decoder.Decode(&e)
		return e.Key, e.Value, err
	}
	return encode, decode
}

// An entry has the fields of a record of Gob.
type entry[K comparable, V any] struct {
	Key   K
	Value V
}
