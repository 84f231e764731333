package redis

import (
	"bytes"
	"math"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
)

// A value is stored in Redis as it is, so that other programs can read and write it. What is
// not a value begins with mark, and so does the encoding of a value that begins with mark.
const (
	mark        = "\x00near\x00"
	absentMark  = mark + "-" // there is no value
	leaseMark   = mark + "?" // a lease; the token follows; without a TTL it is no lease
	escapedMark = mark + "=" // a value that begins with mark follows
)

// encode returns what is stored for a Found or an Absent item.
func encode(item near.Item) string {
	switch {
	case item.State == near.Absent:
		return absentMark
	case bytes.HasPrefix(item.Value, []byte(mark)):
		return escapedMark + string(item.Value)
	}
	return string(item.Value)
}

// decode returns the item of a stored value and its PTTL.
func decode(data []byte, pttl int64) near.Item {
	item := near.Item{State: near.Found, Value: data, TTL: lifetime(pttl)}
	if !bytes.HasPrefix(data, []byte(mark)) {
		return item
	}
	switch rest := data[len(mark):]; {
	case string(data) == absentMark:
		item.State, item.Value = near.Absent, nil
	case bytes.HasPrefix(data, []byte(leaseMark)):
		item.State, item.Value, item.Token = near.Leased, nil, string(data[len(leaseMark):])
	case len(rest) > 0 && rest[0] == '=':
		item.Value = rest[1:]
	}
	return item
}

// lifetime returns the TTL of an item whose key has this PTTL: almost nothing if the key is
// about to expire, or has expired since it was read.
func lifetime(pttl int64) time.Duration {
	switch {
	case pttl == -1: // it does not expire
		return 0
	case pttl <= 0:
		return 1
	case pttl > math.MaxInt64/int64(time.Millisecond): // as another program may have set
		return math.MaxInt64
	}
	return time.Duration(pttl) * time.Millisecond
}

// milliseconds returns a TTL as an argument for Redis: 0 for none, else at least 1.
func milliseconds(ttl time.Duration) int64 {
	if ttl <= 0 {
		return 0
	}
	return max(1, ttl.Milliseconds())
}
