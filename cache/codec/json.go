package codec

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"unicode/utf8"
)

// JSON returns functions that write an entry as a JSON array of its key and its
// value, and read one. They keep no state and are safe for concurrent use.
//
// Keys and values that are strings come back whatever their bytes are. What JSON
// would change is an error of encode: a string inside a key or value that is not
// UTF-8, and in an interface all but nil, bool, float64, string, map[string]any and
// []any, as an int there would come back as a float64. What tags leave out, and what a method
// MarshalJSON or MarshalText does, as that of time.Time, is not checked.
func JSON[K comparable, V any]() (encode func(dst []byte, key K, value V) ([]byte, error), decode func([]byte) (K, V, error)) {
	interfaces := hasInterface(reflect.TypeFor[entry[K, V]](), map[reflect.Type]bool{})
	encode = func(dst []byte, key K, value V) ([]byte, error) {
		b, err := json.Marshal([2]any{key, value})
		if err == nil && bytes.Contains(b, replaced) {
			b, err = encodeBytes(key, value)
		}
		if err == nil && interfaces {
			err = checkInterfaces(reflect.ValueOf(entry[K, V]{key, value}))
		}
		if err != nil {
			return dst, err
		}
		return append(dst, b...), nil
	}
	return encode, decodeJSON[K, V]
}

// replaced is what package json writes for bytes that are not UTF-8. A string that has the
// character U+FFFD is written with that itself.
var replaced = []byte(`\ufffd`)

var errNotUTF8 = errors.New("codec: JSON would change a string that is not UTF-8: use []byte, or Gob")

// encodeBytes encodes an entry that may have strings which are not UTF-8. If the key or the
// value is one, its bytes follow as the third or fourth element. The text may also be that
// of a RawMessage, so only what decodes to something else is an error.
func encodeBytes[K comparable, V any](key K, value V) ([]byte, error) {
	b, err := marshalBytes(key, value)
	if err != nil {
		return nil, err
	}
	if key, value, err = decodeJSON[K, V](b); err != nil {
		return nil, err
	}
	if again, err := marshalBytes(key, value); err != nil || !bytes.Equal(b, again) {
		return nil, errNotUTF8
	}
	return b, nil
}

func marshalBytes[K comparable, V any](key K, value V) ([]byte, error) {
	ofKey, ofValue := notUTF8(key), notUTF8(value)
	if ofKey == nil && ofValue == nil {
		return json.Marshal([2]any{key, value})
	}
	return json.Marshal([4]any{key, value, ofKey, ofValue})
}

// notUTF8 returns the bytes of a string that is not UTF-8, and nil for all else.
func notUTF8[T any](x T) []byte {
	if v := reflect.ValueOf(&x).Elem(); v.Kind() == reflect.String && !utf8.ValidString(v.String()) {
		return []byte(v.String())
	}
	return nil
}

// decodeJSON parses once: an element that holds a pointer is decoded into what that
// points to, and the slice gets as many elements as the array has.
func decodeJSON[K comparable, V any](b []byte) (key K, value V, err error) {
	var ofKey, ofValue []byte
	parts := []any{&key, &value, &ofKey, &ofValue}
	if err := json.Unmarshal(b, &parts); err != nil {
		return key, value, err
	}
	if len(parts) != 2 && len(parts) != 4 {
		return key, value, fmt.Errorf("codec: an array of %d: want a key and a value, or these and their bytes", len(parts))
	}
	err = errors.Join(setBytes(&key, ofKey), setBytes(&value, ofValue))
	return key, value, err
}

// setBytes sets a string to b, unless that is nil.
func setBytes[T any](to *T, b []byte) error {
	if b == nil {
		return nil
	}
	v := reflect.ValueOf(to).Elem()
	if v.Kind() != reflect.String {
		return fmt.Errorf("codec: bytes for %v: want them for strings only", v.Type())
	}
	v.SetString(string(b))
	return nil
}

// hasInterface reports whether a type has interfaces that package json looks into.
func hasInterface(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] || marshals(t) {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return hasInterface(t.Elem(), seen)
	case reflect.Map:
		return hasInterface(t.Key(), seen) || hasInterface(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); sees(f) && hasInterface(f.Type, seen) {
				return true
			}
		}
	}
	return false
}

// marshals reports whether a type, which is no interface, makes its own JSON.
func marshals(t reflect.Type) bool {
	if t.Kind() == reflect.Interface {
		return false
	}
	to := reflect.PointerTo(t)
	return to.Implements(reflect.TypeFor[json.Marshaler]()) || to.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// sees reports whether package json looks at a field, or at those of an embedded struct.
func sees(f reflect.StructField) bool {
	embeds := f.Anonymous && (f.Type.Kind() == reflect.Struct || f.Type.Kind() == reflect.Pointer)
	return (f.IsExported() || embeds) && f.Tag.Get("json") != "-"
}

// checkInterfaces returns an error if a value in an interface would come back as another
// type. The value has no cycles, as package json has encoded it.
func checkInterfaces(v reflect.Value) error {
	if marshals(v.Type()) {
		return nil
	}
	var err error
	switch v.Kind() {
	case reflect.Interface:
		err = checkInterface(v)
	case reflect.Pointer:
		if !v.IsNil() {
			err = checkInterfaces(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := 0; i < v.Len() && err == nil; i++ {
			err = checkInterfaces(v.Index(i))
		}
	case reflect.Map:
		for all := v.MapRange(); all.Next() && err == nil; {
			err = errors.Join(checkInterfaces(all.Key()), checkInterfaces(all.Value()))
		}
	case reflect.Struct:
		for i := 0; i < v.NumField() && err == nil; i++ {
			if sees(v.Type().Field(i)) {
				err = checkInterfaces(v.Field(i))
			}
		}
	}
	return err
}

// checkInterface checks what an interface holds.
func checkInterface(v reflect.Value) error {
	if v.IsNil() {
		return nil
	}
	held := v.Elem()
	switch held.Type() {
	case reflect.TypeFor[bool](), reflect.TypeFor[float64](), reflect.TypeFor[string]():
		return nil
	case reflect.TypeFor[map[string]any](), reflect.TypeFor[[]any]():
		if !held.IsNil() {
			return checkInterfaces(held)
		}
	}
	return fmt.Errorf("codec: JSON would bring %v in an interface back as another type: use Gob, or a type without interfaces", held.Type())
}
