package codec

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
)

// JSON returns functions that write an entry as a JSON array of its key and its
// value, and read one. They keep no state and are safe for concurrent use.
//
// What JSON would bring back as something else is an error of encode: a string
// that is not UTF-8, such as a hash or the bytes of a UUID, and in an interface
// anything but nil, bool, float64, string, []any and map[string]any. Use Gob for
// these, or a function of your own that writes strings in hexadecimal.
func JSON[K comparable, V any]() (encode func(dst []byte, key K, value V) ([]byte, error), decode func([]byte) (K, V, error)) {
	return encodeJSON[K, V], decodeJSON[K, V]
}

func encodeJSON[K comparable, V any](dst []byte, key K, value V) ([]byte, error) {
	b, err := json.Marshal([2]any{key, value})
	for _, part := range []reflect.Value{reflect.ValueOf(&key), reflect.ValueOf(&value)} {
		if err == nil {
			err = checkInterfaces(part.Elem())
		}
	}
	if err == nil && bytes.Contains(b, replaced) {
		err = checkStrings[K, V](b)
	}
	return append(dst, b...), err
}

// replaced is what package encoding/json writes for each byte that is not UTF-8.
var replaced = []byte(`\ufffd`)

// checkStrings returns an error if the JSON of an entry is not that of what is read from it. The
// text of replaced may also be from the program, which then gets it back.
func checkStrings[K comparable, V any](b []byte) error {
	key, value, err := decodeJSON[K, V](b)
	if err != nil {
		return fmt.Errorf("codec: JSON cannot read what it wrote: %w", err)
	}
	if again, err := json.Marshal([2]any{key, value}); err != nil || !bytes.Equal(again, b) {
		return fmt.Errorf("codec: JSON changes a string that is not UTF-8, in %.100q: want Gob, or another function", b)
	}
	return nil
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

// dynamic has what hasInterface returned for types.
var dynamic sync.Map

// isDynamic is hasInterface, which it calls once for each type.
func isDynamic(t reflect.Type) bool {
	is, ok := dynamic.Load(t)
	if !ok {
		is, _ = dynamic.LoadOrStore(t, hasInterface(t, map[reflect.Type]bool{}))
	}
	return is.(bool)
}

// hasInterface reports whether JSON writes what is in an interface for a value of type t. seen has
// the types that are being looked at.
func hasInterface(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] || marshals(t) {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return hasInterface(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); written(f) && hasInterface(f.Type, seen) {
				return true
			}
		}
	}
	return false
}

// marshals reports whether a type has a JSON of its own, which is its own affair.
func marshals(t reflect.Type) bool {
	for _, t := range []reflect.Type{t, reflect.PointerTo(t)} {
		if t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
			return t.Kind() != reflect.Interface
		}
	}
	return false
}

// written reports whether JSON writes a field, or fields of it.
func written(f reflect.StructField) bool {
	return (f.IsExported() || f.Anonymous) && f.Tag.Get("json") != "-"
}

// checkInterfaces returns an error if JSON would bring back what is in an interface, somewhere in
// a value, as another type.
func checkInterfaces(v reflect.Value) error {
	t := v.Type()
	if !isDynamic(t) {
		return nil
	}
	switch t.Kind() {
	case reflect.Interface:
		return checkInterface(v)
	case reflect.Pointer:
		if !v.IsNil() {
			return checkInterfaces(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if err := checkInterfaces(v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		for _, e := range v.Seq2() {
			if err := checkInterfaces(e); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if written(t.Field(i)) {
				if err := checkInterfaces(v.Field(i)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// checkInterface is checkInterfaces for an interface.
func checkInterface(v reflect.Value) error {
	if v.IsNil() {
		return nil
	}
	in := v.Elem()
	if v.NumMethod() == 0 {
		switch in.Interface().(type) {
		case bool, float64, string:
			return nil
		case []any, map[string]any:
			if !in.IsNil() {
				return checkInterfaces(in)
			}
		}
	}
	return fmt.Errorf("codec: JSON does not bring back %s in %s: want Gob, or another function", in.Type(), v.Type())
}
