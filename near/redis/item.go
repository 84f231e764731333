package redis

import (
	"bytes"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
)

// A value is stored in Redis as it is, so that other programs can read and write it, unless it
// has a Due, a Grace or Groups. What is not a value begins with mark, and so does the encoding of
// a value that begins with mark.
const (
	mark        = "\x00near\x00"
	absentMark  = mark + "-" // there is no value
	leaseMark   = mark + "?" // a lease; the token follows
	escapedMark = mark + "=" // a value that begins with mark follows
	agedMark    = mark + "+" // the text of an aged, and a value, also an escaped or a grouped one, follow
	groupedMark = mark + "@" // the text of groups, a line feed, and a value follow
)

// An aged is what Redis has of an item with a Due or a Grace, before its value. The key lives
// for TTL and Grace. Times count back from its end, in milliseconds, so PTTL tells which of
// them have come, by the clock of Redis alone.
type aged struct {
	due   int64  // when it is to be loaded anew
	ended int64  // when its TTL ends: the Grace
	until int64  // when the lease ends
	token string // of the lease; noToken without one
}

const noToken = "-"

// String returns the text of an aged. Scripts read it too: agedText.
func (a aged) String() string { return fmt.Sprintf("%d %d %d %s\n", a.due, a.ended, a.until, a.token) }

// cutAged returns the aged at the beginning of data, and the value after it. ok is false if
// there is none.
func cutAged(data []byte) (a aged, value []byte, ok bool) {
	head, value, _ := bytes.Cut(data, []byte("\n"))
	words := strings.Split(string(head), " ")
	if len(words) != 4 {
		return a, nil, false
	}
	for i, to := range []*int64{&a.due, &a.ended, &a.until} {
		n, err := strconv.ParseInt(words[i], 10, 64)
		if err != nil {
			return a, nil, false
		}
		*to = n
	}
	a.token = words[3]
	return a, value, true
}

// encode returns what is stored for a Found or an Absent item.
func encode(item near.Item) string {
	switch {
	case item.State == near.Absent:
		return absentMark
	case ages(item):
		ended := milliseconds(item.Grace)
		return agedMark + aged{due: ended + milliseconds(item.Due), ended: ended, token: noToken}.String() + encodeValue(item)
	}
	return encodeValue(item)
}

// encodeValue returns what is stored for the value and the groups of a Found item.
func encodeValue(item near.Item) string {
	switch {
	case len(item.Groups) > 0:
		return groupedMark + groupsText(item.Groups) + "\n" + string(item.Value)
	case bytes.HasPrefix(item.Value, []byte(mark)):
		return escapedMark + string(item.Value)
	}
	return string(item.Value)
}

// groupsText returns groups in one line.
func groupsText(groups []near.Membership) string {
	words := make([]string, len(groups))
	for i, m := range groups {
		words[i] = url.QueryEscape(m.Group) + "=" + url.QueryEscape(m.Generation)
	}
	return strings.Join(words, "&")
}

// cutGroups returns the groups whose text data begins with, and the value after it. ok is false if
// there are none.
func cutGroups(data []byte) (groups []near.Membership, value []byte, ok bool) {
	line, value, ok := bytes.Cut(data, []byte("\n"))
	for _, word := range strings.Split(string(line), "&") {
		group, generation, found := strings.Cut(word, "=")
		group, wrongGroup := url.QueryUnescape(group)
		generation, wrongGeneration := url.QueryUnescape(generation)
		if !ok || !found || wrongGroup != nil || wrongGeneration != nil {
			return nil, nil, false
		}
		groups = append(groups, near.Membership{Group: group, Generation: generation})
	}
	return groups, value, true
}

// life returns for how many milliseconds an item is stored; 0 means for ever.
func life(item near.Item) int64 {
	if !ages(item) {
		return milliseconds(item.TTL)
	}
	return milliseconds(item.TTL) + milliseconds(item.Grace)
}

// ages reports whether an item is stored with an aged.
func ages(item near.Item) bool {
	return item.State == near.Found && item.TTL > 0 && (item.Due > 0 || item.Grace > 0)
}

// decode returns the item of a stored value and its PTTL.
func decode(data []byte, pttl int64) near.Item {
	item := near.Item{State: near.Found, Value: data, TTL: lifetime(pttl)}
	if !bytes.HasPrefix(data, []byte(mark)) {
		return item
	}
	switch {
	case string(data) == absentMark:
		item.State, item.Value = near.Absent, nil
	case bytes.HasPrefix(data, []byte(leaseMark)):
		item.State, item.Value, item.Holder = near.Leased, nil, string(data[len(leaseMark):])
	case bytes.HasPrefix(data, []byte(agedMark)):
		return decodeAged(item, pttl)
	default:
		decodeValue(&item)
	}
	return item
}

// decodeValue finds the value and the groups in what is stored for them: the Value of an item.
func decodeValue(item *near.Item) {
	if value, ok := bytes.CutPrefix(item.Value, []byte(escapedMark)); ok {
		item.Value = value
	} else if rest, ok := bytes.CutPrefix(item.Value, []byte(groupedMark)); ok {
		if groups, value, ok := cutGroups(rest); ok {
			item.Groups, item.Value = groups, value
		}
	}
}

// decodeAged returns the item whose value begins with agedMark. Without an end, which somebody
// took away, it has no age either.
func decodeAged(item near.Item, pttl int64) near.Item {
	a, value, ok := cutAged(item.Value[len(agedMark):])
	if !ok {
		return item // that of a newer version, perhaps
	}
	item.Value = value
	decodeValue(&item)
	if pttl == -1 {
		return item
	}
	item.Grace = time.Duration(a.ended) * time.Millisecond
	item.Due = time.Duration(a.due-a.ended) * time.Millisecond
	if item.TTL -= item.Grace; item.TTL == 0 {
		item.TTL = -1
	}
	if a.token != noToken && pttl > a.until {
		item.Holder = a.token
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
