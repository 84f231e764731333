package snapshot

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
)

// ErrDamaged is wrapped by every error that says that a snapshot is damaged or was cut.
var ErrDamaged = errors.New("the snapshot is damaged")

func errTooLong(n int) error {
	return fmt.Errorf("an entry takes %d bytes: want at most %d", n, MaxRecord)
}

// A Reader reads a snapshot. It does not trust lengths: it allocates memory only as bytes
// arrive.
type Reader struct {
	Header Header

	r       *bufio.Reader
	offset  int64 // of what is read next
	records uint64
	number  [8]byte
	body    []byte
	limited io.LimitedReader
	buffer  bytes.Buffer
}

// NewReader reads the header of a snapshot.
func NewReader(r io.Reader) (*Reader, error) {
	rd := &Reader{r: bufio.NewReaderSize(r, bufferSize)}
	if err := rd.readHeader(); err != nil {
		return nil, err
	}
	return rd, nil
}

func (r *Reader) readHeader() error {
	b := make([]byte, len(magic)+1)
	if err := r.read(b); err != nil {
		return r.damaged("in the header", err)
	}
	if string(b[:len(magic)]) != magic {
		return fmt.Errorf("not a snapshot: it begins with %q, not with %q", b[:len(magic)], magic)
	}
	if v := b[len(magic)]; v != version {
		return fmt.Errorf("the snapshot has version %d of the format: this program knows version %d", v, version)
	}
	n, b, err := r.uvarint(b)
	if err == nil && n > MaxSchema {
		err = fmt.Errorf("a schema of %d bytes", n)
	}
	if err == nil {
		at := len(b)
		b = append(b, make([]byte, n)...)
		err = r.read(b[at:])
		r.Header.Schema = string(b[at:])
	}
	var numbers [3]uint64
	for i := range numbers {
		if err == nil {
			numbers[i], b, err = r.uvarint(b)
		}
	}
	if err == nil {
		err = r.checksum(crc32.Checksum(b, castagnoli))
	}
	if err != nil {
		return r.damaged("in the header", err)
	}
	r.Header.Saved, r.Header.Entries, r.Header.Weight = unzigzag(numbers[0]), numbers[1], numbers[2]
	return nil
}

// Next reads a record. The payload is valid until the next call. After the last record the
// error is [io.EOF]; any other error says where the snapshot is damaged.
func (r *Reader) Next() (Entry, []byte, error) {
	n, length, err := r.uvarint(nil)
	if err == nil && n == 0 {
		return Entry{}, nil, r.trailer(length)
	}
	if err == nil && n > MaxRecord {
		err = fmt.Errorf("an entry of %d bytes", n)
	}
	if err == nil {
		err = r.readBody(int64(n))
	}
	if err == nil {
		sum := crc32.Update(sumOfNumber(&r.number, r.records), castagnoli, length)
		err = r.checksum(crc32.Update(sum, castagnoli, r.body))
	}
	var e Entry
	var payload []byte
	if err == nil {
		e, payload, err = parseEntry(r.body)
	}
	if err != nil {
		return Entry{}, nil, r.damaged("in entry "+fmt.Sprint(r.records+1), err)
	}
	r.records++
	return e, payload, nil
}

// Records returns the number of records read so far.
func (r *Reader) Records() uint64 { return r.records }

// trailer reads the trailer, of which the bytes in begun were read already.
func (r *Reader) trailer(begun []byte) error {
	count, b, err := r.uvarint(begun)
	if err == nil {
		err = r.checksum(crc32.Checksum(b, castagnoli))
	}
	if err == nil && count != r.records {
		err = fmt.Errorf("it says %d entries", count)
	}
	if err == nil {
		if _, more := r.r.ReadByte(); more == nil {
			err = errors.New("something follows the end")
		}
	}
	if err != nil {
		return r.damaged(fmt.Sprintf("at the end, after %d entries", r.records), err)
	}
	return io.EOF
}

// readBody reads n bytes into r.body, which grows as the bytes arrive.
func (r *Reader) readBody(n int64) error {
	r.buffer.Reset()
	r.limited = io.LimitedReader{R: r.r, N: n}
	got, err := r.buffer.ReadFrom(&r.limited)
	r.offset += got
	r.body = r.buffer.Bytes()
	if err == nil && got < n {
		err = io.ErrUnexpectedEOF
	}
	return err
}

func parseEntry(body []byte) (e Entry, payload []byte, err error) {
	flags := body[0]
	body = body[1:]
	if flags&^knownFlags != 0 {
		return e, nil, fmt.Errorf("flags %#x", flags)
	}
	e.Mark = flags & markBits
	if e.Expires = flags&flagExpires != 0; e.Expires {
		deadline, n := binary.Varint(body)
		if n <= 0 {
			return e, nil, errors.New("no deadline")
		}
		e.Deadline, body = deadline, body[n:]
	}
	if e.Weighed = flags&flagWeighed != 0; e.Weighed {
		weight, n := binary.Uvarint(body)
		if n <= 0 || weight > math.MaxUint32 {
			return e, nil, errors.New("no weight")
		}
		e.Weight, body = uint32(weight), body[n:]
	}
	return e, body, nil
}

// uvarint reads a number. It returns the number, and read with the bytes of the number appended.
func (r *Reader) uvarint(read []byte) (uint64, []byte, error) {
	at := len(read)
	for {
		c, err := r.r.ReadByte()
		if err != nil {
			return 0, read, err
		}
		r.offset++
		read = append(read, c)
		if c < 0x80 {
			break
		}
		if len(read)-at == binary.MaxVarintLen64 {
			return 0, read, errors.New("a number without an end")
		}
	}
	n, size := binary.Uvarint(read[at:])
	if size <= 0 {
		return 0, read, errors.New("a number above 64 bits")
	}
	return n, read, nil
}

// checksum reads a checksum, and returns an error unless it is sum.
func (r *Reader) checksum(sum uint32) error {
	var b [4]byte
	if err := r.read(b[:]); err != nil {
		return err
	}
	if binary.LittleEndian.Uint32(b[:]) != sum {
		return errors.New("the checksum is another")
	}
	return nil
}

func (r *Reader) read(b []byte) error {
	n, err := io.ReadFull(r.r, b)
	r.offset += int64(n)
	return err
}

// damaged returns an error that says where reading stopped. It wraps err, unless that is the end of
// the file, which means that the snapshot was cut.
func (r *Reader) damaged(where string, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it ends %s, at byte %d", ErrDamaged, where, r.offset)
	}
	return fmt.Errorf("%w %s, before byte %d: %w", ErrDamaged, where, r.offset, err)
}

// unzigzag turns a result of binary.Uvarint into that of binary.Varint.
func unzigzag(n uint64) int64 { return int64(n>>1) ^ -int64(n&1) }
