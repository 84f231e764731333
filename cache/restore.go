package cache

import (
	"fmt"
	"io"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/snapshot"
)

// Restore stores the entries that Save wrote, and returns how many it stored. decode makes
// a key and a value of the bytes that encode appended; it must not keep the slice. It is
// called for each entry in the order of Save, from the goroutine of Restore.
//
// An entry keeps its deadline by the wall clock, but never has more time left than when it
// was saved, however clocks are set; expired entries are left out. Entries that the cache
// has already, and loads under way, stay as they are. If the cache is smaller than the one
// that was saved, the entries that would have been evicted first are left out. Jitter is
// not applied again, and Weigh is called only if the cache that was saved did not weigh.
//
// If r has no snapshot, or one with another Schema, Restore returns an error and stores
// nothing. If the snapshot is damaged or was cut, the error says where, and wraps
// [ErrSnapshot]; the entries before that are in the cache. An error of decode ends Restore
// too.
func (c *Cache[K, V]) Restore(r io.Reader, decode func([]byte) (K, V, error)) (restored int, err error) {
	if decode == nil {
		panic("cache: decode of Restore is nil: want a function")
	}
	in, err := snapshot.NewReader(r)
	if err != nil {
		return 0, fmt.Errorf("cache: Restore: %w", err)
	}
	h := in.Header
	if h.Schema != c.schema {
		return 0, fmt.Errorf("cache: Restore: Schema of the snapshot is %q, that of the cache %q: nothing was restored", h.Schema, c.schema)
	}
	defer func() { c.restored.Add(uint64(restored)) }()
	for tooMany := c.excess(h); ; {
		e, payload, err := in.Next()
		if err == io.EOF {
			return restored, nil
		}
		if err != nil {
			return restored, fmt.Errorf("cache: Restore: %w", err)
		}
		key, value, err := decode(payload)
		if err != nil {
			return restored, fmt.Errorf("cache: Restore: decode of entry %d: %w", in.Records(), err)
		}
		if size := c.sizeOf(e); tooMany >= size && size > 0 {
			tooMany -= size
			continue
		}
		if c.restore(key, value, e, h.Saved) {
			restored++
		}
	}
}

// ErrSnapshot is wrapped by the errors of Restore for a snapshot that is damaged or cut.
var ErrSnapshot = snapshot.ErrDamaged

// excess returns by how much a snapshot exceeds the limit of this cache, in weight or in
// entries.
func (c *Cache[K, V]) excess(h snapshot.Header) uint64 {
	saved, limit := h.Entries, uint64(c.limit.Load())
	if c.weigh != nil {
		saved, limit = h.Weight, c.budget.max.Load()
	}
	if limit == 0 {
		return 0
	}
	return saved - min(saved, limit)
}

// sizeOf returns the size of an entry in the unit of excess.
func (c *Cache[K, V]) sizeOf(e snapshot.Entry) uint64 {
	if c.weigh != nil {
		return uint64(e.Weight)
	}
	return 1
}

// restore stores an entry that was saved at a moment. It reports whether it stored it.
func (c *Cache[K, V]) restore(key K, value V, e snapshot.Entry, saved int64) (stored bool) {
	h := c.hasher.Hash(key)
	var u update[K, V]
	u.hash, u.key, u.value, u.weight = h, key, value, 1
	var ttl time.Duration
	if e.Expires {
		// Not now alone: a wall clock that was set back since would make the entry live longer.
		if ttl = time.Duration(e.Deadline - max(saved, wallClock().UnixNano())); ttl <= 0 {
			return false
		}
	}
	u.life = c.lifeFrom(c.clock.now(), ttl)
	switch {
	case c.weigh != nil && e.Weighed:
		u.weight = e.Weight
	case c.weigh != nil:
		u.weight = c.weigh(key, value)
	}
	for done := false; !done; {
		s := c.lock(h)
		if _, found := s.findLive(h, key); found {
			s.lock.Unlock()
			c.abandon(&u)
			c.settle(u.reported)
			return false
		}
		missing := s.store(&u)
		if i, found := s.find(h, key); found {
			stored = true
			for range e.Mark {
				s.use(i)
			}
		}
		done = c.endStore(s, &u, missing)
	}
	c.settle(u.reported)
	return stored
}
