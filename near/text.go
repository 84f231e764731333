package near

import (
	"fmt"
	"reflect"
	"strconv"
)

// A Text turns keys into strings and back. No two keys have the same string. Its functions
// are safe for concurrent use.
type Text[K comparable] struct {
	// String returns the string of a key.
	String func(key K) string

	// Parse returns the key with this string, or an error if there is none, as which a
	// panic counts.
	Parse func(text string) (K, error)
}

// textOf returns the Text of a type whose kind is string or an integer. For other types the
// Text is zero.
func textOf[K comparable]() (text Text[K]) {
	switch t := reflect.TypeFor[K](); {
	case t.Kind() == reflect.String:
		text.String = func(key K) string { return reflect.ValueOf(&key).Elem().String() }
		text.Parse = func(s string) (key K, err error) {
			reflect.ValueOf(&key).Elem().SetString(s)
			return key, nil
		}
	case reflect.Zero(t).CanInt():
		text.String = func(key K) string { return strconv.FormatInt(reflect.ValueOf(&key).Elem().Int(), 10) }
		text.Parse = func(s string) (key K, err error) {
			n, err := strconv.ParseInt(s, 10, t.Bits())
			reflect.ValueOf(&key).Elem().SetInt(n)
			return key, wrongKey[K](s, err)
		}
	case reflect.Zero(t).CanUint():
		text.String = func(key K) string { return strconv.FormatUint(reflect.ValueOf(&key).Elem().Uint(), 10) }
		text.Parse = func(s string) (key K, err error) {
			n, err := strconv.ParseUint(s, 10, t.Bits())
			reflect.ValueOf(&key).Elem().SetUint(n)
			return key, wrongKey[K](s, err)
		}
	}
	return text
}

func wrongKey[K comparable](text string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("near: key %q: want %v: %w", text, reflect.TypeFor[K](), err)
}
