// This file stores the entries that Save wrote: Restore.

package cache

import (
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/snapshot"
)

// Restore stores the entries that Save wrote, and returns how many it stored. decode makes
// a key and a value of the bytes that encode appended; it must not keep the slice. It is
// called for each entry in the order of Save, from the goroutine of Restore.
//
// An entry keeps its deadline by the wall clock, but never has more time left than when it
// was saved, however clocks are set; expired entries are left out. Jitter is not applied
// again, and Weigh is called only if the cache that was saved did not weigh.
//
// What the cache has stays: Restore evicts and replaces nothing, and leaves out a key that has
// a value, also one in Grace, an error that Negative keeps, or a Compute under way. Loads go on,
// and replace what Restore stores for their keys. If there is not room for all, the entries
// that would have been evicted first are left out, and Restore holds the others until it has
// read all.
//
// If r has no snapshot, or one with another Schema, Restore returns an error and stores
// nothing. If the snapshot is damaged or was cut, the error says where, and wraps
// [ErrSnapshot]; the entries before that are in the cache. An error or a panic of decode ends
// Restore too; the error of a panic wraps a [PanicError].
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
	to := restoring[K, V]{cache: c, saved: h.Saved, scarce: c.exceeds(h)}
	for {
		e, payload, err := in.Next()
		if err == io.EOF {
			return to.end(), nil
		}
		if err != nil {
			return to.end(), fmt.Errorf("cache: Restore: %w", err)
		}
		key, value, err := decodeEntry(decode, payload)
		if err != nil {
			return to.end(), fmt.Errorf("cache: Restore: decode of entry %d: %w", in.Records(), err)
		}
		to.add(savedEntry[K, V]{key, value, e})
	}
}

// ErrSnapshot is wrapped by the errors of Restore for a snapshot that is damaged or cut.
var ErrSnapshot = snapshot.ErrDamaged

// decodeEntry calls decode, which may panic: a file is not to be trusted.
func decodeEntry[K comparable, V any](decode func([]byte) (K, V, error), payload []byte) (key K, value V, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = decodePanic{&PanicError{p, debug.Stack()}}
		}
	}()
	return decode(payload)
}

// A decodePanic is the error of Restore when decode panicked.
type decodePanic struct{ *PanicError }

func (p decodePanic) Error() string { return fmt.Sprintf("it panicked: %v", p.Value) }
func (p decodePanic) Unwrap() error { return p.PanicError }

// A savedEntry is an entry as Restore has read it.
type savedEntry[K comparable, V any] struct {
	key   K
	value V
	snapshot.Entry
}

// A restoring is a call of Restore. If there may not be room for all, it holds back what it
// reads and drops the coldest of that, as nothing that is in the cache may be evicted.
type restoring[K comparable, V any] struct {
	cache    *Cache[K, V]
	saved    int64 // when, by the wall clock
	scarce   bool  // there may not be room for all
	restored int

	held    []savedEntry[K, V] // from the coldest on; those below dropped are zero
	dropped int
	size    uint64 // of those held
}

// exceeds reports whether a snapshot may have more than there is room for.
func (c *Cache[K, V]) exceeds(h snapshot.Header) bool {
	if c.shared.sizing.weigh != nil {
		return h.Weight == 0 || h.Weight > c.room() // 0: perhaps it was not weighed
	}
	return h.Entries > c.room()
}

// room returns how much more the cache can store without an eviction, in weight or in entries.
func (c *Cache[K, V]) room() uint64 {
	if c.shared.sizing.weigh == nil && c.shared.sizing.limit.Load() == 0 {
		return math.MaxUint64
	}
	used, limit := c.shared.sizing.budget.used.Load(), c.shared.sizing.budget.max.Load()
	return limit - min(used, limit)
}

// sizeOf returns the size of an entry in the unit of room. Weigh is called for it at most once.
func (c *Cache[K, V]) sizeOf(e *savedEntry[K, V]) uint64 {
	switch {
	case c.shared.sizing.weigh == nil:
		e.Weight = 1
	case !e.Weighed:
		e.Weight = c.shared.sizing.weigh(e.key, e.value)
	}
	e.Weighed = true
	return uint64(e.Weight)
}

// add stores an entry that was read, or holds it back.
func (r *restoring[K, V]) add(e savedEntry[K, V]) {
	size := r.cache.sizeOf(&e)
	if !r.scarce || size == 0 {
		r.store(&e)
		return
	}
	if _, live := r.ttl(&e); !live || size > r.cache.room() || r.cache.has(e.key) {
		return
	}
	r.held = append(r.held, e)
	r.size += size
	r.fit()
}

// fit drops the coldest of the entries held, until there is room for the others.
func (r *restoring[K, V]) fit() {
	for room := r.cache.room(); r.size > room; r.dropped++ {
		r.size -= uint64(r.held[r.dropped].Weight)
		r.held[r.dropped] = savedEntry[K, V]{} // it must not keep key and value alive
	}
	if r.dropped > len(r.held)/2 {
		n := copy(r.held, r.held[r.dropped:])
		clear(r.held[n:])
		r.held, r.dropped = r.held[:n], 0
	}
}

// end stores what is held, and returns how many entries were restored.
func (r *restoring[K, V]) end() int {
	r.fit() // others may have stored values meanwhile
	for i := range r.held[r.dropped:] {
		r.store(&r.held[r.dropped+i])
	}
	return r.restored
}

// ttl returns the time that an entry has left, 0 if it never expires, and false if it has
// expired.
func (r *restoring[K, V]) ttl(e *savedEntry[K, V]) (left time.Duration, live bool) {
	if !e.Expires {
		return 0, true
	}
	// Not now alone: a wall clock that was set back since would make the entry live longer.
	left = time.Duration(e.Deadline - max(r.saved, wallClock().UnixNano()))
	return left, left > 0
}

// store stores an entry, unless it has expired, the cache has something for its key, or there is
// no room.
func (r *restoring[K, V]) store(e *savedEntry[K, V]) {
	ttl, live := r.ttl(e)
	if !live {
		return
	}
	c := r.cache
	var u update[K, V]
	u.hash, u.key, u.value, u.weight = c.shared.hasher.Hash(e.key), e.key, e.value, e.Weight
	now, away := c.shared.timing.clock.look()
	if away && (ttl > 0 || c.shared.timing.idle > 0) {
		c.shared.timing.clock.mustBeHome()
	}
	u.life = c.shared.timing.lifeFrom(now, ttl)
	s := c.shared.lock(u.hash)
	if s.restore(&u, e.Mark) {
		r.restored++
	}
	c.shared.observers.settle(s.unlocked())
}

// has reports whether the cache has a value of a key, also one in Grace.
func (c *Cache[K, V]) has(key K) bool {
	h := c.shared.hasher.Hash(key)
	s, r := c.shared.rlock(h)
	defer s.lock.RUnlock(r)
	_, ok := s.findUsable(h, key)
	return ok
}

// restore stores a value of Restore, whose key has marks of the order. It reports whether it
// did.
func (s *shard[K, V]) restore(u *update[K, V], marks uint8) bool {
	i, found := s.find(u.hash, u.key)
	switch {
	case s.closed, !s.shared.hasher.Reflexive(u.key), found && !s.foundGone(i), s.decides(u.hash, u.key):
		return false
	}
	if found {
		s.remove(i, u.hash, Expired)
	}
	if s.limited && !s.shared.sizing.budget.reserve(uint64(u.weight)) {
		return false
	}
	i = s.insert(u)
	s.beginLife(i, u)
	s.restored++
	for range marks {
		s.use(i)
	}
	return true
}

// decides reports whether a key must not get a value past what is known or computed about it:
// by a kept error, a Compute, or a load that may find that the value it renews, which has left
// meanwhile, is still right.
func (s *shard[K, V]) decides(h uint64, key K) bool {
	l := s.current(key)
	return l != nil && l.renewal || s.isFenced(h, key) || s.keptError(key) != nil
}
