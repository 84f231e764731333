package cache

import (
	"fmt"
	"io"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/snapshot"
)

// Restore stores what Save wrote, and returns how many entries that were. decode makes a
// key and a value of what encode appended; it must not keep the slice. It is called for
// each entry in the order of Save, from the goroutine of Restore.
//
// An entry has the time left that it has by the wall clock, but never more than it had
// when it was saved, however clocks are set; what has expired meanwhile is left out.
// What the cache has already, and loads that are under way, stay as they are. If the
// cache is smaller than the one that was saved, the entries that would have been evicted
// first are left out. Jitter is not applied again, and Weigh is called only if the cache
// that was saved did not weigh.
//
// If the snapshot has another Schema than the cache, or is none, nothing is restored.
// If it is damaged or was cut, the error says where, and wraps [ErrSnapshot]; what came
// before that is in the cache. An error of decode ends Restore too.
func (c *Cache[K, V]) Restore(r io.Reader, decode func([]byte) (K, V, error)) (restored int, err error) {
	if decode == nil {
		panic("cache: Restore with a nil decode")
	}
	in, err := snapshot.NewReader(r)
	if err != nil {
		return 0, fmt.Errorf("cache: Restore: %w", err)
	}
	h := in.Header
	if h.Schema != c.schema {
		return 0, fmt.Errorf("cache: Restore: the snapshot has Schema %q, the cache %q: nothing was restored", h.Schema, c.schema)
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

// ErrSnapshot is in the chain of the errors of Restore that say that what it read was
// damaged or cut.
var ErrSnapshot = snapshot.ErrDamaged

// excess returns by how much what was saved exceeds the limit of this cache, in weight
// or in entries.
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

// sizeOf returns what an entry counts in excess.
func (c *Cache[K, V]) sizeOf(e snapshot.Entry) uint64 {
	if c.weigh != nil {
		return uint64(e.Weight)
	}
	return 1
}

// restore stores an entry that was saved at a moment, and reports whether it did.
func (c *Cache[K, V]) restore(key K, value V, e snapshot.Entry, saved int64) (stored bool) {
	h := c.hasher.Hash(key)
	var u update[K, V]
	u.hash, u.key, u.value, u.weight = h, key, value, 1
	var ttl time.Duration
	if e.Expires {
		// A wall clock that was set back since would make it live for longer.
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
