package codec

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"unicode/utf8"

	"github.com/pinwheel-cache/pinwheel/internal/jsonloss"
)

// JSON returns functions that write an entry as a JSON array of its key and its
// value, and read one. They keep no state and are safe for concurrent use.
//
// Keys and values that are strings come back whatever their bytes are. encode returns an error
// if JSON would change something else:
//
//   - a string inside a key or value that is not UTF-8
//   - a pointer to a nil pointer, slice, map or interface, which would come back as nil
//   - a value in an interface that is not nil, a bool, float64, string, map[string]any or
//     []any: an int there would come back as a float64
//
// It does not check what tags leave out, nor what the methods MarshalJSON and MarshalText do, as
// those of time.Time.
func JSON[K comparable, V any]() (encode func(dst []byte, key K, value V) ([]byte, error), decode func([]byte) (K, V, error)) {
	changes := jsonloss.MayChange(reflect.TypeFor[entry[K, V]]())
	encode = func(dst []byte, key K, value V) ([]byte, error) {
		ofKey, ofValue := notUTF8(key), notUTF8(value)
		parts := []any{key, value, ofKey, ofValue}
		if ofKey == nil && ofValue == nil {
			parts = parts[:2]
		}
		b, err := json.Marshal(parts)
		if err == nil && (changes || jsonloss.Replaced(b)) {
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

// notUTF8 returns the bytes of a string that is not UTF-8, and nil for all else.
func notUTF8[T any](x T) []byte {
	if v := reflect.ValueOf(&x).Elem(); v.Kind() == reflect.String && !utf8.ValidString(v.String()) {
		return []byte(v.String())
	}
	return nil
}

// decodeJSON reads what encode of JSON has written. It parses only once, as package json decodes
// an element of parts into what its pointer points to, and makes parts as long as the array.
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

// checkPart returns an error if JSON would change a key or a value. A string may have any bytes, as
// these are written too.
func checkPart(v reflect.Value) error {
	if v.Kind() == reflect.String {
		return nil
	}
	if err := jsonloss.Check(v); err != nil {
		return fmt.Errorf("codec: %w", err)
	}
	return nil
}
