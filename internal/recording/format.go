// Package recording reads and writes recordings: samples of the accesses to a running cache.
//
// A recording is the text of [Magic] and then blocks. A block is
//
//	kind     1 byte
//	length   4 bytes, little-endian: of the payload
//	payload
//	checksum 4 bytes, little-endian: CRC-32C of all of the block before it
//
// The first block is of kind H and the last of kind E. Their payloads are JSON: a [Header]
// and an [End]. Those between are of kind A. Their payload is a time in microseconds
// since the start, as a uvarint, and accesses one after the other. Each of them is
//
//	what     1 byte: the Op, plus 16 for a hit, 32 with a weight, 64 with a TTL
//	delay    uvarint: microseconds since the access before, or since the time of the block
//	key      8 bytes, little-endian, not of a Clear: a keyed hash
//	weight   uvarint, if it has one
//	ttl      uvarint, if it has one: milliseconds, rounded up
//
// So a block can be read without those before it. A recording without an End was cut off, and
// reading it is an error, as with any other damage.
//
// Keys are hashed with AES under a random key that is made for each recording and never
// leaves the process: two recordings of one cache have nothing in common.
package recording

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"
)

// Magic is the beginning of a recording. The number is the version of the format.
const Magic = "pinwheel recording 1\n"

// magicFamily is the beginning in all versions.
const magicFamily = "pinwheel recording "

// A Header says what was recorded.
type Header struct {
	Cache     string    `json:"cache"`
	Policy    string    `json:"policy"` // "lru" or "adaptive"
	Limit     int       `json:"limit"`  // 0: none
	MaxWeight uint64    `json:"max_weight"`
	OneIn     uint64    `json:"one_in"` // one key in OneIn is recorded
	Start     time.Time `json:"start"`
}

// Counters are the counts of the cache itself, for all keys.
type Counters struct {
	Hits   uint64 `json:"hits"`
	Misses uint64 `json:"misses"`
	Sets   uint64 `json:"sets"`
	Limit  int    `json:"limit"` // at that time
}

// An End has the counts at the end of a recording.
type End struct {
	First    Counters      `json:"first"` // when it began
	Last     Counters      `json:"last"`
	Duration time.Duration `json:"duration_ns"`
	Accesses uint64        `json:"accesses"` // in the recording
	Lost     uint64        `json:"lost"`     // accesses that are missing, as the writer was too slow
}

// An Op is the kind of an access.
type Op uint8

// The numbers are part of the format.
const (
	Get    Op = iota + 1
	Set       // also by a load
	Touch     // a new TTL
	Remove    // by the program
	Clear     // of all keys
)

// An Access is one operation on a key, or a Clear.
type Access struct {
	Op     Op
	Hit    bool          // of a Get
	Key    uint64        // 0 of a Clear
	At     time.Duration // since the start
	Weight uint32        // of the value stored or found; 0 if the cache does not weigh
	TTL    time.Duration // time left of the value, at least a millisecond; 0: it does not expire
}

const (
	kindHeader   = 'H'
	kindAccesses = 'A'
	kindEnd      = 'E'

	blockHead = 1 + 4
	blockTail = 4

	opMask    = 0x0f
	hitBit    = 0x10
	weightBit = 0x20
	ttlBit    = 0x40

	longestAccess = 1 + 10 + 8 + 5 + 10

	// longestPayload bounds the memory of a reader.
	longestPayload = 4 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendBlock appends a block to b.
func appendBlock(b []byte, kind byte, payload []byte) []byte {
	from := len(b)
	b = append(b, kind)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(payload)))
	b = append(b, payload...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[from:], castagnoli))
}

// appendAccess appends an access to a payload. delay is in microseconds since the access before.
func appendAccess(b []byte, a Access, delay uint64) []byte {
	what := byte(a.Op)
	if a.Hit {
		what |= hitBit
	}
	if a.Weight > 0 {
		what |= weightBit
	}
	if a.TTL > 0 {
		what |= ttlBit
	}
	b = append(b, what)
	b = binary.AppendUvarint(b, delay)
	if a.Op != Clear {
		b = binary.LittleEndian.AppendUint64(b, a.Key)
	}
	if a.Weight > 0 {
		b = binary.AppendUvarint(b, uint64(a.Weight))
	}
	if a.TTL > 0 {
		b = binary.AppendUvarint(b, uint64((a.TTL-1)/time.Millisecond+1))
	}
	return b
}

var errShort = errors.New("it ends within an access")

// cutAccess reads the first access of a payload, and returns its delay and what follows it.
func cutAccess(b []byte) (a Access, delay uint64, rest []byte, err error) {
	what := b[0]
	a.Op, a.Hit = Op(what&opMask), what&hitBit != 0
	if a.Op < Get || a.Op > Clear || what&^(opMask|hitBit|weightBit|ttlBit) != 0 || a.Hit && a.Op != Get {
		return a, 0, nil, fmt.Errorf("0x%02x is no access", what)
	}
	delay, b, err = cutUvarint(b[1:], longestTime)
	if a.Op != Clear && err == nil {
		if len(b) < 8 {
			return a, 0, nil, errShort
		}
		a.Key, b = binary.LittleEndian.Uint64(b), b[8:]
	}
	var n uint64
	if what&weightBit != 0 && err == nil {
		n, b, err = cutUvarint(b, 1<<32-1)
		a.Weight = uint32(n)
	}
	if what&ttlBit != 0 && err == nil {
		n, b, err = cutUvarint(b, longestTTL)
		a.TTL = time.Duration(n) * time.Millisecond
	}
	return a, delay, b, err
}

const (
	longestTime = 1<<63/1000 - 1         // microseconds of a time.Duration
	longestTTL  = 1<<63/1000_000 + 1 - 2 // milliseconds
)

func cutUvarint(b []byte, most uint64) (v uint64, rest []byte, err error) {
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil, errShort
	}
	if v > most {
		return 0, nil, fmt.Errorf("the number %d is too high", v)
	}
	return v, b[n:], nil
}
