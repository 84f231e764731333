package recording

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"time"
)

// IsRecording reports whether a file is a recording of any version. head is the beginning of
// the file: at least 32 bytes, or all of a shorter file.
func IsRecording(head []byte) bool { return strings.HasPrefix(string(head), magicFamily) }

// Read reads a recording. It calls header first, and then access for each access in the order
// of their times. If access returns an error, Read ends with that. An error says at which byte.
func Read(r io.Reader, header func(Header), access func(Access) error) (End, error) {
	d := &decoder{in: r}
	end, err := d.read(header, access)
	if err != nil {
		return end, fmt.Errorf("recording, byte %d: %w", d.at, err)
	}
	return end, nil
}

// A decoder reads a recording.
type decoder struct {
	in       io.Reader
	at       int64 // offset of the block or access that is being read
	next     int64 // offset of the first byte that was not read yet
	payload  []byte
	accesses uint64
	latest   time.Duration
}

var errCutOff = errors.New("it is cut off here")

// fill reads len(b) bytes.
func (d *decoder) fill(b []byte) error {
	n, err := io.ReadFull(d.in, b)
	d.next += int64(n)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errCutOff
	}
	return err
}

func (d *decoder) read(header func(Header), access func(Access) error) (end End, err error) {
	magic := make([]byte, len(Magic))
	if err := d.fill(magic); err != nil {
		return end, err
	}
	if string(magic) != Magic {
		return end, fmt.Errorf("it begins with %q, and this program reads %q", magic, Magic)
	}
	kind, err := d.block()
	if err != nil {
		return end, err
	}
	var h Header
	if err := d.json(kind, kindHeader, &h); err != nil {
		return end, err
	}
	if h.OneIn == 0 {
		return end, errors.New("the header has no one_in")
	}
	header(h)
	for {
		if kind, err = d.block(); err != nil {
			return end, err
		}
		if kind != kindAccesses {
			break
		}
		if err := d.each(access); err != nil {
			return end, err
		}
	}
	if err := d.json(kind, kindEnd, &end); err != nil {
		return end, err
	}
	if end.Accesses != d.accesses {
		return end, fmt.Errorf("the end says that there are %d accesses before it, and there are %d", end.Accesses, d.accesses)
	}
	if n, _ := io.ReadFull(d.in, make([]byte, 1)); n > 0 {
		d.at = d.next
		return end, errors.New("something follows the end")
	}
	return end, nil
}

// block reads a block into payload.
func (d *decoder) block() (kind byte, err error) {
	d.at = d.next
	head := make([]byte, blockHead)
	if err := d.fill(head); err != nil {
		return 0, err
	}
	n := binary.LittleEndian.Uint32(head[1:])
	if n > longestPayload {
		return 0, fmt.Errorf("the block says that it has %d bytes, and the most is %d", n, longestPayload)
	}
	if int(n)+blockTail > cap(d.payload) {
		d.payload = make([]byte, n+blockTail)
	}
	d.payload = d.payload[:n+blockTail]
	if err := d.fill(d.payload); err != nil {
		return 0, err
	}
	sum := crc32.Update(crc32.Checksum(head, castagnoli), castagnoli, d.payload[:n])
	if want := binary.LittleEndian.Uint32(d.payload[n:]); sum != want {
		return 0, fmt.Errorf("the checksum of the block is %08x, and its bytes give %08x", want, sum)
	}
	d.payload = d.payload[:n]
	return head[0], nil
}

// json reads the payload of a block, which must be of the wanted kind.
func (d *decoder) json(kind, want byte, v any) error {
	if kind != want {
		return fmt.Errorf("the block is of kind %q: want %q", kind, want)
	}
	if err := json.Unmarshal(d.payload, v); err != nil {
		return fmt.Errorf("a block of kind %q: %w", kind, err)
	}
	return nil
}

// each calls access for the accesses of the payload.
func (d *decoder) each(access func(Access) error) error {
	from := d.at + blockHead
	now, rest, err := cutUvarint(d.payload, longestTime)
	for err == nil && len(rest) > 0 {
		d.at = from + int64(len(d.payload)-len(rest))
		var a Access
		var delay uint64
		if a, delay, rest, err = cutAccess(rest); err != nil {
			break
		}
		if now += delay; now > longestTime {
			return fmt.Errorf("the time %d is too high", now)
		}
		a.At = time.Duration(now) * time.Microsecond
		if a.At < d.latest {
			return fmt.Errorf("the time goes back, from %v to %v", d.latest, a.At)
		}
		d.latest = a.At
		d.accesses++
		if err := access(a); err != nil {
			return err
		}
	}
	return err
}
