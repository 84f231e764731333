package near

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// A Codec turns values into bytes and back. Its functions are safe for concurrent use.
type Codec[V any] struct {
	// Encode returns the bytes of a value. It must not keep the slice.
	Encode func(value V) ([]byte, error)

	// Decode returns a new value at each call. It must not change or keep data.
	Decode func(data []byte) (V, error)
}

// JSON returns a codec by package encoding/json, which sees exported fields only. A string that
// is not UTF-8, which JSON would bring back as another one, is an error of Encode.
func JSON[V any]() Codec[V] { return Codec[V]{Encode: encodeJSON[V], Decode: decodeJSON[V]} }

// replaced is what package encoding/json writes for each byte that is not UTF-8.
var replaced = []byte(`\ufffd`)

func encodeJSON[V any](value V) ([]byte, error) {
	data, err := json.Marshal(value)
	if err != nil || !bytes.Contains(data, replaced) {
		return data, err
	}
	// It may also be a text of the program, which then gets it back.
	if back, err := decodeJSON[V](data); err == nil {
		if again, err := json.Marshal(back); err == nil && bytes.Equal(again, data) {
			return data, nil
		}
	}
	return nil, fmt.Errorf("near: JSON changes a string that is not UTF-8, in %.100q: want another Codec, or []byte instead of string", data)
}

func decodeJSON[V any](data []byte) (value V, err error) {
	err = json.Unmarshal(data, &value)
	return value, err
}
