// Package codec has ready-made ways to turn entries of a cache into bytes and
// back, for its Save and Restore:
//
//	encode, decode := codec.JSON[string, *User]()
//	err := users.SaveFile(ctx, "users.cache", encode)
//
// JSON and Gob see exported fields only: what a type keeps in other fields is lost
// without an error. Where that matters, or speed does, write the two functions by hand:
// a function that appends to a slice need not allocate.
package codec

import (
	"bytes"
	"encoding/gob"

	"github.com/pinwheel-cache/pinwheel/internal/snapshot"
)

// Gob returns functions that write entries with package encoding/gob, and read
// them. The entries of a snapshot are one gob stream, which describes the types once. So
// use encode for one Save at a time, and decode for one Restore at a time, of all entries in
// their order. Both can be used again afterwards. Neither is safe for concurrent use.
//
// Concrete types in interfaces must be registered with [gob.Register]. A
// pointer to the zero value of a basic type comes back as nil.
func Gob[K comparable, V any]() (encode func(dst []byte, key K, value V) ([]byte, error), decode func([]byte) (K, V, error)) {
	out := gobWriter{}
	encode = func(dst []byte, key K, value V) ([]byte, error) {
		b, err := out.encode(&entry[K, V]{key, value})
		return append(dst, b...), err
	}
	in := newGobReader()
	decode = func(b []byte) (K, V, error) {
		if len(b) > 0 && b[0] == newStream {
			in, b = newGobReader(), b[1:]
		}
		var e entry[K, V]
		err := in.decode(b, &e)
		return e.Key, e.Value, err
	}
	return encode, decode
}

// An entry has the fields of a record of Gob.
type entry[K comparable, V any] struct {
	Key   K
	Value V
}

// newStream is a byte before the first entry of a gob stream. No message of gob begins with it,
// as a message begins with its length, which is not 0.
const newStream = 0

// A gobWriter begins a new stream for each Save: if it went on with the old one, the new file
// would lack the descriptions of types, which only the old file has. It cannot tell its own
// cache's Saves from those of others, and begins a stream for these too, which costs some bytes.
type gobWriter struct {
	saves   uint64 // how many Saves had begun when the stream began
	stream  *gob.Encoder
	message bytes.Buffer
}

// encode returns the bytes of an entry, which are valid until the next call.
func (w *gobWriter) encode(entry any) ([]byte, error) {
	w.message.Reset()
	stream := w.stream
	if saves := snapshot.Begun(); stream == nil || saves != w.saves {
		stream, w.saves = gob.NewEncoder(&w.message), saves
		w.message.WriteByte(newStream)
	}
	w.stream = nil // after an error or a panic it may lack descriptions of types
	if err := stream.Encode(entry); err != nil {
		return nil, err
	}
	w.stream = stream
	return w.message.Bytes(), nil
}

// A gobReader reads one stream.
type gobReader struct {
	stream  *gob.Decoder
	message *bytes.Buffer
}

func newGobReader() gobReader {
	message := new(bytes.Buffer)
	return gobReader{gob.NewDecoder(message), message}
}

func (r gobReader) decode(b []byte, entry any) error {
	r.message.Reset()
	r.message.Write(b)
	return r.stream.Decode(entry)
}
