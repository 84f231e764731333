package near

import "encoding/json"

// A Codec turns values into bytes and back. Its functions are safe for concurrent use.
type Codec[V any] struct {
	// Encode returns the bytes of a value. It must not keep the slice.
	Encode func(value V) ([]byte, error)

	// Decode returns a new value at each call. It must not change or keep data.
	Decode func(data []byte) (V, error)
}

// JSON returns a codec by package encoding/json, which sees exported fields only.
func JSON[V any]() Codec[V] {
	return Codec[V]{
		Encode: func(value V) ([]byte, error) { return json.Marshal(value) },
		Decode: func(data []byte) (value V, err error) {
			err = json.Unmarshal(data, &value)
			return value, err
		},
	}
}
