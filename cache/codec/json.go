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
// UTF-8; a pointer to a nil pointer, slice, map or interface, which would come back as nil; and in an interface all but nil, bool, float64, string, map[string]any and
// []any, as an int there would come back as a float64. What tags leave out, and what a method
// MarshalJSON or MarshalText does, as that of time.Time, is not checked.
func JSON[K comparable, V any]() (encode func(dst []byte, key K, value V) ([]byte, error), decode func([]byte) (K, V, error)) {
	changes := mayChange(reflect.TypeFor[entry[K, V]](), map[reflect.Type]bool{})
	encode = func(dst []byte, key K, value V) ([]byte, error) {
		ofKey, ofValue := notUTF8(key), notUTF8(value)
		parts := []any{key, value, ofKey, ofValue}
		if ofKey == nil && ofValue == nil {
			parts = parts[:2]
		}
		b, err := json.Marshal(parts)
		if changed := bytes.Contains(b, replaced) || bytes.ContainsRune(b, utf8.RuneError); err == nil && (changes || changed) {
			e := reflect.ValueOf(entry[K, V]{key, value}) // its fields have no address, as for package json
			err = errors.Join(checkPart(e.Field(0)), checkPart(e.Field(1)))
		}
		if err != nil {
			return dst, err
		}
		return append(dst, b...), nil
	}
	return encode, decodeJSON[K, V]
}

// replaced is what package json before Go 1.27 writes for bytes that are not UTF-8; since then it
// writes the character U+FFFD. A string that has this character is written with it by both.
var replaced = []byte(`\ufffd`)

var errNotUTF8 = errors.New("codec: JSON would change a string that is not UTF-8: use []byte, or Gob")

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

// mayChange reports whether a type has values that package json changes, but for strings that are
// not UTF-8.
func mayChange(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] || marshals(t) {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Pointer:
		return canBeNull(t.Elem()) || mayChange(t.Elem(), seen)
	case reflect.Slice, reflect.Array:
		return mayChange(t.Elem(), seen)
	case reflect.Map:
		return mayChange(t.Key(), seen) || mayChange(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); sees(f) && mayChange(f.Type, seen) {
				return true
			}
		}
	}
	return false
}

// canBeNull reports whether a type has a value that package json writes as null: a pointer to that
// comes back as nil.
func canBeNull(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return true
	}
	return false
}

// marshals reports whether a type, which is no interface, makes its own JSON.
func marshals(t reflect.Type) bool {
	if t.Kind() == reflect.Interface {
		return false
	}
	return t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// sees reports whether package json looks at a field, or at those of an embedded struct.
func sees(f reflect.StructField) bool {
	embeds := f.Anonymous && (f.Type.Kind() == reflect.Struct || f.Type.Kind() == reflect.Pointer)
	return (f.IsExported() || embeds) && f.Tag.Get("json") != "-"
}

// checkPart checks a key or a value. If that is a string, its bytes are written too.
func checkPart(v reflect.Value) error {
	if v.Kind() == reflect.String {
		return nil
	}
	return check(v)
}

// check returns an error if package json changes a string or a pointer in v, or if a value in an
// interface would come back as another type. The value has no cycles, as package json has encoded it.
func check(v reflect.Value) error {
	if marshals(v.Type()) || v.CanAddr() && marshals(reflect.PointerTo(v.Type())) {
		return nil
	}
	var err error
	switch v.Kind() {
	case reflect.String:
		if !utf8.ValidString(v.String()) {
			err = errNotUTF8
		}
	case reflect.Interface:
		err = checkInterface(v)
	case reflect.Pointer:
		switch {
		case v.IsNil():
		case canBeNull(v.Elem().Type()) && v.Elem().IsNil():
			err = fmt.Errorf("codec: JSON would bring a %v to nil back as nil: want nil itself, or a function of your own", v.Type())
		default:
			err = check(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := 0; i < v.Len() && err == nil; i++ {
			err = check(v.Index(i))
		}
	case reflect.Map:
		for all := v.MapRange(); all.Next() && err == nil; {
			err = errors.Join(check(all.Key()), check(all.Value()))
		}
	case reflect.Struct:
		for i := 0; i < v.NumField() && err == nil; i++ {
			if sees(v.Type().Field(i)) {
				err = check(v.Field(i))
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
		return check(held)
	case reflect.TypeFor[map[string]any](), reflect.TypeFor[[]any]():
		if !held.IsNil() {
			return check(held)
		}
	}
	return fmt.Errorf("codec: JSON would bring %v in an interface back as another type: use Gob, or a type without interfaces", held.Type())
}
