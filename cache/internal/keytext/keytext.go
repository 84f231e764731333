// Package keytext turns keys into text, and back, for the page of package stats.
package keytext

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Parser returns a function that reads a key as Of writes it. It returns nil unless keys are
// strings, integers or booleans, or have an UnmarshalText method.
func Parser[K comparable]() func(text string) (K, error) {
	if _, ok := any(new(K)).(encoding.TextUnmarshaler); ok {
		return func(text string) (key K, err error) {
			if err := any(&key).(encoding.TextUnmarshaler).UnmarshalText([]byte(text)); err != nil {
				return key, fmt.Errorf("key %q: want a %T: %w", text, key, err)
			}
			return key, nil
		}
	}
	t := reflect.TypeFor[K]()
	set := setterOf(t)
	if set == nil {
		return nil
	}
	return func(text string) (key K, err error) {
		if err := set(reflect.ValueOf(&key).Elem(), text); err != nil {
			article := "a"
			if strings.HasPrefix(t.String(), "int") {
				article = "an"
			}
			return key, fmt.Errorf("key %q: want %s %v", text, article, t)
		}
		return key, nil
	}
}

// setterOf returns a function that parses a text into a value of type t, or nil if t is no
// string, integer or boolean.
func setterOf(t reflect.Type) func(v reflect.Value, text string) error {
	switch {
	case t.Kind() == reflect.String:
		return func(v reflect.Value, text string) error {
			v.SetString(text)
			return nil
		}
	case t.Kind() == reflect.Bool:
		return func(v reflect.Value, text string) error {
			b, err := strconv.ParseBool(text)
			v.SetBool(b)
			return err
		}
	case reflect.Zero(t).CanInt():
		return func(v reflect.Value, text string) error {
			n, err := strconv.ParseInt(text, 10, t.Bits())
			v.SetInt(n)
			return err
		}
	case reflect.Zero(t).CanUint():
		return func(v reflect.Value, text string) error {
			n, err := strconv.ParseUint(text, 10, t.Bits())
			v.SetUint(n)
			return err
		}
	}
	return nil
}

// Of returns a key as text. If Parser returns a function for the type, that function reads the
// text, so Of ignores a String method then. For other types Of is fmt.Sprint.
func Of[K comparable](key K) string {
	if _, ok := any(&key).(encoding.TextUnmarshaler); ok {
		if m, ok := any(&key).(encoding.TextMarshaler); ok {
			if text, err := m.MarshalText(); err == nil {
				return string(text)
			}
		}
		return fmt.Sprint(key)
	}
	// What a pointer points to is not the key, may be secret, and may change meanwhile.
	if v := reflect.ValueOf(key); v.Kind() == reflect.Pointer {
		return fmt.Sprintf("(%T)(%#x)", key, v.Pointer())
	}
	switch v := reflect.ValueOf(&key).Elem(); {
	case v.Kind() == reflect.String:
		return v.String()
	case v.Kind() == reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10)
	case v.CanUint():
		return strconv.FormatUint(v.Uint(), 10)
	}
	return fmt.Sprint(key)
}
