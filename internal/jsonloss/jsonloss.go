// Package jsonloss says what package json would change of a value without an error.
package jsonloss

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"unicode/utf8"
)

// replaced is what package json before Go 1.27 writes for bytes that are not UTF-8. Since then it
// writes the character U+FFFD, as both do for a string that has this character.
var replaced = []byte(`\ufffd`)

// Replaced reports whether package json may have replaced bytes that are not UTF-8 when it wrote b.
func Replaced(b []byte) bool {
	return bytes.Contains(b, replaced) || bytes.ContainsRune(b, utf8.RuneError)
}

// MayChange reports whether a type has values that package json changes. It does not count strings
// that are not UTF-8.
func MayChange(t reflect.Type) bool { return mayChange(t, map[reflect.Type]bool{}) }

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

// canBeNull reports whether a type has a value that package json writes as null. A pointer to such a
// value comes back as nil.
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

// sees reports whether package json looks at a field, or at the fields of an embedded struct.
func sees(f reflect.StructField) bool {
	embeds := f.Anonymous && (f.Type.Kind() == reflect.Struct || f.Type.Kind() == reflect.Pointer)
	return (f.IsExported() || embeds) && f.Tag.Get("json") != "-"
}

var errNotUTF8 = errors.New("JSON would change a string that is not UTF-8: use []byte, or another codec")

// Check returns an error if package json changes a string or a pointer in v, or if a value in an
// interface would come back as another type. v must have no cycles: package json has encoded it.
func Check(v reflect.Value) error { return check(v, true) }

// CheckStrings is Check of nothing but strings.
func CheckStrings(v reflect.Value) error { return check(v, false) }

// check is Check, or CheckStrings if all is not set.
func check(v reflect.Value, all bool) error {
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
		if !all && !v.IsNil() {
			return check(v.Elem(), all)
		}
		err = checkInterface(v)
	case reflect.Pointer:
		switch {
		case v.IsNil():
		case all && canBeNull(v.Elem().Type()) && v.Elem().IsNil():
			err = fmt.Errorf("JSON would bring a %v to nil back as nil: want nil itself, or another codec", v.Type())
		default:
			err = check(v.Elem(), all)
		}
	case reflect.Slice, reflect.Array:
		for i := 0; i < v.Len() && err == nil; i++ {
			err = check(v.Index(i), all)
		}
	case reflect.Map:
		for each := v.MapRange(); each.Next() && err == nil; {
			err = errors.Join(check(each.Key(), all), check(each.Value(), all))
		}
	case reflect.Struct:
		for i := 0; i < v.NumField() && err == nil; i++ {
			if sees(v.Type().Field(i)) {
				err = check(v.Field(i), all)
			}
		}
	}
	return err
}

// checkInterface checks the value in an interface.
func checkInterface(v reflect.Value) error {
	if v.IsNil() {
		return nil
	}
	held := v.Elem()
	switch held.Type() {
	case reflect.TypeFor[bool](), reflect.TypeFor[float64](), reflect.TypeFor[string]():
		return check(held, true)
	case reflect.TypeFor[map[string]any](), reflect.TypeFor[[]any]():
		if !held.IsNil() {
			return check(held, true)
		}
	}
	return fmt.Errorf("JSON would bring %v in an interface back as another type: want a type without interfaces, or another codec", held.Type())
}
