package hotkeys

import "reflect"

// maxBytes is the most that the strings in the keys of all counters have.
const maxBytes = 8 << 20

// hasStrings reports whether keys of a type may hold strings.
func hasStrings(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Interface:
		return true
	case reflect.Array:
		return hasStrings(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if hasStrings(t.Field(i).Type) {
				return true
			}
		}
	}
	return false
}

// bytesOf returns the bytes of all strings in a key. What pointers point to is not counted.
func bytesOf(v reflect.Value) (n int) {
	switch v.Kind() {
	case reflect.String:
		n = v.Len()
	case reflect.Interface:
		n = bytesOf(v.Elem()) // of nil it is 0
	case reflect.Array:
		for i := range v.Len() {
			n += bytesOf(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			n += bytesOf(v.Field(i))
		}
	}
	return n
}
