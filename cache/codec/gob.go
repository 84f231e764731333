package codec

import (
	"bytes"
	"encoding/gob"
	"errors"

	"github.com/pinwheel-cache/pinwheel/internal/snapshot"
)

// Gob returns functions that write entries with package encoding/gob, and read
// them. The entries of a snapshot are one gob stream, which describes the types
// once, so decode needs all of them, in their order. Both functions may be used
// for one Save or Restore after the other, but not for two at once.
//
// Concrete types in interfaces have to be registered with [gob.Register]. A
// pointer to the zero value of a basic type comes back as nil.
func Gob[K comparable, V any]() (encode func(dst []byte, key K, value V) ([]byte, error), decode func([]byte) (K, V, error)) {
	return new(gobEncoder[K, V]).encode, new(gobDecoder[K, V]).decode
}

// An entry has the fields of a record of Gob.
type entry[K comparable, V any] struct {
	Key   K
	Value V
}

// A record begins with a byte that says whether a gob stream does.
const (
	goesOn = iota
	begins
)

// A gobEncoder writes a gob stream for each snapshot.
type gobEncoder[K comparable, V any] struct {
	out    bytes.Buffer
	stream *gob.Encoder
	begun  uint64 // snapshots, when the stream began
}

func (e *gobEncoder[K, V]) encode(dst []byte, key K, value V) ([]byte, error) {
	mark := byte(goesOn)
	// Any snapshot that this process has begun may be the one of this entry.
	if begun := snapshot.Begun(); e.stream == nil || begun != e.begun {
		e.stream, e.begun, mark = gob.NewEncoder(&e.out), begun, begins
	}
	e.out.Reset()
	if err := e.stream.Encode(&entry[K, V]{key, value}); err != nil {
		e.stream = nil // it may count types as described that it has not written
		return dst, err
	}
	return append(append(dst, mark), e.out.Bytes()...), nil
}

// A gobDecoder reads what a gobEncoder has written.
type gobDecoder[K comparable, V any] struct {
	in     bytes.Buffer
	stream *gob.Decoder
}

func (d *gobDecoder[K, V]) decode(b []byte) (key K, value V, err error) {
	if len(b) == 0 || b[0] > begins {
		return key, value, errors.New("codec: not an entry by Gob")
	}
	d.in.Reset()
	d.in.Write(b[1:])
	if b[0] == begins {
		d.stream = gob.NewDecoder(&d.in)
	}
	if d.stream == nil {
		return key, value, errors.New("codec: the gob stream of this entry has no beginning: decode all entries in their order")
	}
	var e entry[K, V]
	err = d.stream.Decode(&e)
	return e.Key, e.Value, err
}
