// This file has Save, which writes the entries as a snapshot.

package cache

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache/internal/clock"
	"github.com/pinwheel-cache/pinwheel/internal/snapshot"
)

// wallClock is time.Now, except in tests that set the clock.
var wallClock = time.Now

// Save writes the entries of the cache to w, for Restore. encode appends the bytes of a key
// and a value to dst; package cache/codec has ready-made functions. Expired entries are
// left out.
//
// Save writes each entry as it was at some moment while Save ran, not all as of one moment.
// It is safe for concurrent use with all methods. It holds no lock while it encodes or
// writes, and calls encode from its own goroutine, one entry at a time. The entries that
// would be evicted first come first, so that a smaller cache can keep the others.
//
// Save returns the first error of encode or w. What it has written is useless then.
func (c *Cache[K, V]) Save(w io.Writer, encode func(dst []byte, key K, value V) ([]byte, error)) error {
	checkFunction(encode == nil, "encode of Save")
	if len(c.schema) > snapshot.MaxSchema {
		return fmt.Errorf("cache: Save: Schema has %d bytes: want at most %d", len(c.schema), snapshot.MaxSchema)
	}
	h := snapshot.Header{Schema: c.schema, Saved: wallClock().UnixNano(), Entries: uint64(c.Len())}
	if c.common.size.weigh != nil {
		h.Weight = c.common.size.budget.used.Load()
	}
	out, err := snapshot.NewWriter(w, h)
	if err != nil {
		return fmt.Errorf("cache: Save: %w", err)
	}
	var body []byte
	for e := range c.fromColdest() {
		body = c.header(e).Append(body[:0])
		if body, err = encode(body, e.key, e.value); err != nil {
			return fmt.Errorf("cache: Save: encode: %w", err)
		}
		if err = out.Write(body); err != nil {
			return fmt.Errorf("cache: Save: %w", err)
		}
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("cache: Save: %w", err)
	}
	return nil
}

// header returns what a snapshot has of an entry beside its encoded key and value.
func (c *Cache[K, V]) header(e walked[K, V]) snapshot.Entry {
	h := snapshot.Entry{Mark: e.heat, Weighed: c.common.size.weigh != nil, Weight: e.weight}
	if e.deadline != clock.Never {
		h.Expires = true
		now := wallClock().UnixNano()
		if left := e.deadline - c.common.time.clock.Now(); left < math.MaxInt64-now {
			h.Deadline = now + left
		} else {
			h.Deadline = math.MaxInt64
		}
	}
	return h
}
