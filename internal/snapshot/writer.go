package snapshot

import (
	"bufio"
	"encoding/binary"
	"hash/crc32"
	"io"
	"sync/atomic"
)

const (
	magic   = "pinwheel"
	version = 1

	// MaxSchema bounds the bytes of a schema.
	MaxSchema = 1 << 10

	// MaxRecord bounds the bytes of a record's body.
	MaxRecord = 1 << 30

	// bufferSize is so large that reads and writes of the file cost little for each record.
	bufferSize = 256 << 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A Header describes a snapshot.
type Header struct {
	Schema  string // the user's name for the format of payloads
	Saved   int64  // Unix nanoseconds
	Entries uint64 // how many the cache had when Save began: a hint, as entries come and go meanwhile
	Weight  uint64 // of these entries; 0 if the cache does not weigh
}

// An Entry is a record without its payload.
type Entry struct {
	Mark     uint8 // of the eviction order, 0 to 3
	Expires  bool  // Deadline is set
	Weighed  bool  // Weight is set
	Deadline int64 // Unix nanoseconds
	Weight   uint32
}

// The bits of the first byte of a record's body.
const (
	markBits    = 0b0000_0011
	flagExpires = 0b0000_0100
	flagWeighed = 0b0000_1000
	knownFlags  = markBits | flagExpires | flagWeighed
)

// A Writer writes a snapshot. It is not safe for concurrent use. After an error
// every method returns that error.
type Writer struct {
	w       *bufio.Writer
	records uint64
	scratch []byte
	number  [8]byte
	err     error
}

// begun is how many Writers were made.
var begun atomic.Uint64

// Begun returns how many snapshots this process has begun to write. It tells an encoder with state
// that another snapshot may have begun. It is safe for concurrent use.
func Begun() uint64 { return begun.Load() }

// NewWriter writes a header to w and returns a Writer for the records.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	begun.Add(1)
	b := append([]byte(magic), version)
	b = binary.AppendUvarint(b, uint64(len(h.Schema)))
	b = append(b, h.Schema...)
	b = binary.AppendVarint(b, h.Saved)
	b = binary.AppendUvarint(b, h.Entries)
	b = binary.AppendUvarint(b, h.Weight)
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	wr := &Writer{w: bufio.NewWriterSize(w, bufferSize)}
	_, wr.err = wr.w.Write(b)
	return wr, wr.err
}

// Append appends the encoding of e to dst and returns the result. Append the payload to that, and
// call Write.
func (e Entry) Append(dst []byte) []byte {
	flags := e.Mark & markBits
	if e.Expires {
		flags |= flagExpires
	}
	if e.Weighed {
		flags |= flagWeighed
	}
	dst = append(dst, flags)
	if e.Expires {
		dst = binary.AppendVarint(dst, e.Deadline)
	}
	if e.Weighed {
		dst = binary.AppendUvarint(dst, uint64(e.Weight))
	}
	return dst
}

// Write writes a record. The body is the result of [Entry.Append] and the payload. Write does not
// keep it.
func (w *Writer) Write(body []byte) error {
	if w.err == nil && len(body) > MaxRecord {
		w.err = errTooLong(len(body))
	}
	if w.err != nil {
		return w.err
	}
	b := binary.AppendUvarint(w.scratch[:0], uint64(len(body)))
	sum := crc32.Update(sumOfNumber(&w.number, w.records), castagnoli, b)
	sum = crc32.Update(sum, castagnoli, body)
	w.scratch = b
	w.write(b)
	w.write(body)
	w.write(binary.LittleEndian.AppendUint32(w.scratch[:0], sum))
	w.records++
	return w.err
}

// Close writes the trailer and what is buffered. It does not close the
// underlying writer.
func (w *Writer) Close() error {
	b := append(w.scratch[:0], 0)
	b = binary.AppendUvarint(b, w.records)
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	w.write(b)
	if w.err == nil {
		w.err = w.w.Flush()
	}
	return w.err
}

func (w *Writer) write(b []byte) {
	if w.err == nil {
		_, w.err = w.w.Write(b)
	}
}

// sumOfNumber is the beginning of the checksum of record n. The caller lends it b: its own array
// would be allocated.
func sumOfNumber(b *[8]byte, n uint64) uint32 {
	binary.LittleEndian.PutUint64(b[:], n)
	return crc32.Checksum(b[:], castagnoli)
}
