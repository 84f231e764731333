package near

import (
	"encoding/json"
	"fmt"
	"reflect"
	"runtime/debug"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/internal/jsonloss"
)

// A Codec turns values into bytes and back. Its functions are safe for concurrent use. If one
// panics, callers get an error that wraps a cache.PanicError.
type Codec[V any] struct {
	// Encode returns the bytes of a value. It must not keep the slice.
	Encode func(value V) ([]byte, error)

	// Decode returns a new value at each call. It must not change or keep data.
	Decode func(data []byte) (V, error)
}

// JSON returns a codec by package encoding/json, which sees exported fields only. A string that is
// not UTF-8, which JSON would change, is an error of Encode.
func JSON[V any]() Codec[V] {
	return Codec[V]{
		Encode: func(value V) (data []byte, err error) {
			if data, err = json.Marshal(value); err == nil && jsonloss.Replaced(data) {
				if err = jsonloss.CheckStrings(reflect.ValueOf(&value).Elem()); err != nil {
					err = fmt.Errorf("near: %w", err)
				}
			}
			return data, err
		},
		Decode: func(data []byte) (value V, err error) {
			err = json.Unmarshal(data, &value)
			return value, err
		},
	}
}

// convert calls a function that turns keys or values into bytes or back, and returns a panic of it
// as an error. The argument may be what another program has stored: for as long as it is stored, it
// would make every caller in every instance panic.
func convert[A, B any](f func(A) (B, error), a A) (b B, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("near: a codec: %w", &cache.PanicError{Value: p, Stack: debug.Stack()})
		}
	}()
	return f(a)
}
