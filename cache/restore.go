// This file has Restore, which stores the entries of a snapshot as far as there is room.

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
// called for each entry in the order of Save, from the goroutine of Restore. If it panics,
// that is an error, a [PanicError].
//
// An entry keeps its deadline by the wall clock, but never has more time left than when it
// was saved, however clocks are set; expired entries are left out. Jitter is not applied
// again, and Weigh is called only if the cache that was saved did not weigh.
//
// Restore changes nothing that the cache has, and evicts no value. It leaves out keys that have a
// value, also one in Grace, keys with an error that Negative keeps, and keys whose renewal is under
// way. If a Compute of a restored key is under way, its function is called again. If there is too
// little room, the entries that would have been evicted first are left out. To choose them, a cache
// with a Limit or MaxWeight stores the entries only when all have been read.
//
// If r has no snapshot, or one with another Schema, Restore returns an error and stores
// nothing. If the snapshot is damaged or was cut, the error says where, and wraps
// [ErrSnapshot]; the entries before that are in the cache. An error of decode ends Restore
// too.
func (c *Cache[K, V]) Restore(r io.Reader, decode func([]byte) (K, V, error)) (restored int, err error) {
	checkFunction(decode == nil, "decode of Restore")
	flips := c.tuner.flips.Load()
	in, err := snapshot.NewReader(r)
	if err != nil {
		return 0, fmt.Errorf("cache: Restore: %w", err)
	}
	if schema := in.Header.Schema; schema != c.schema {
		return 0, fmt.Errorf("cache: Restore: Schema of the snapshot is %q, that of the cache %q: nothing was restored", schema, c.schema)
	}
	to := restoration[K, V]{cache: c, saved: in.Header.Saved, flips: flips}
	if err = to.read(in, decode); err != nil {
		err = fmt.Errorf("cache: Restore: %w", err)
	}
	to.storeAll()
	return to.stored, err
}

// ErrSnapshot is wrapped by the errors of Restore for a snapshot that is damaged or cut.
var ErrSnapshot = snapshot.ErrDamaged

// A restoration is a call of Restore.
type restoration[K comparable, V any] struct {
	cache  *Cache[K, V]
	saved  int64            // when the snapshot was, Unix nanoseconds
	flips  uint32           // of Bypass, when it began
	waits  []restored[K, V] // entries to store when all have been read, the coldest first
	weight uint64           // of waits, in the unit of the budget
	stored int
}

// A restored is an entry of a snapshot.
type restored[K comparable, V any] struct {
	key   K
	value V
	snapshot.Entry
}

// read reads all entries of a snapshot.
func (r *restoration[K, V]) read(in *snapshot.Reader, decode func([]byte) (K, V, error)) error {
	for {
		e, payload, err := in.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		key, value, err := decoded(decode, payload)
		if err != nil {
			return fmt.Errorf("decode of entry %d: %w", in.Records(), err)
		}
		r.add(restored[K, V]{key, value, e})
	}
}

// decoded calls decode, and turns a panic of it into an error.
func decoded[K comparable, V any](decode func([]byte) (K, V, error), payload []byte) (key K, value V, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{p, debug.Stack()}
		}
	}()
	return decode(payload)
}

// add stores an entry or, if there may be too little room for all, lets it wait.
func (r *restoration[K, V]) add(e restored[K, V]) {
	c := r.cache
	if c.common.size.weigh == nil || e.Weight == 0 { // none, or saved when values could weigh nothing
		e.Weight = c.common.size.weightOf(e.key, e.value)
	}
	room := c.roomLeft()
	if room == math.MaxUint64 {
		r.store(&e)
		return
	}
	if _, left := r.left(&e); !left || uint64(e.Weight) > room || c.has(e.key) {
		return
	}
	r.waits = append(r.waits, e)
	r.weight += uint64(e.Weight)
	r.fit(room)
}

// fit leaves out the coldest entries until there is room for the others.
func (r *restoration[K, V]) fit(room uint64) {
	entries := uint64(math.MaxUint64)
	if b := r.cache.common.size.counts; b != nil {
		entries = b.left()
	}
	for r.weight > room || uint64(len(r.waits)) > entries {
		r.weight -= uint64(r.waits[0].Weight)
		r.waits[0] = restored[K, V]{} // keep no value alive
		r.waits = r.waits[1:]
	}
}

// storeAll stores the entries that have waited.
func (r *restoration[K, V]) storeAll() {
	r.fit(r.cache.roomLeft())
	for i := range r.waits {
		r.store(&r.waits[i])
	}
}

// left returns the time that an entry has left, and whether it has any; 0 is for ever.
func (r *restoration[K, V]) left(e *restored[K, V]) (ttl time.Duration, any bool) {
	if !e.Expires {
		return 0, true
	}
	// Not from now alone: a wall clock that was set back since would make the entry live longer.
	ttl = time.Duration(e.Deadline - max(r.saved, wallClock().UnixNano()))
	return ttl, ttl > 0
}

// store stores an entry if it has time left, the key has no value, and there is room.
func (r *restoration[K, V]) store(e *restored[K, V]) {
	c := r.cache
	ttl, left := r.left(e)
	if !left {
		return
	}
	u := update[K, V]{hash: c.common.hasher.Hash(e.key), key: e.key, value: e.value, weight: e.Weight, life: c.common.time.lifeFrom(c.common.time.clock.MustNow(), ttl)}
	s := c.common.lock(u.hash)
	if c.tuner.flips.Load() == r.flips && u.restore(s, e.Mark) {
		r.stored++
	}
	c.common.observers.settle(s.unlock())
}

// restore stores a value with marks, unless the key has a value, a kept error or a renewal under way,
// or there is no room. It evicts nothing and affects no load.
func (u *update[K, V]) restore(s *shard[K, V], marks uint8) (stored bool) {
	i, found := s.find(u.hash, u.key)
	switch l := s.pending.current(u.hash, u.key); {
	case s.off, found && !s.checkGone(i), l != nil && l.renewal, s.common.keptError(u.key, 0) != nil, !s.common.hasher.Reflexive(u.key):
		return false
	case (s.limited || s.common.size.weigh != nil) && !s.common.size.budget.reserve(uint64(u.weight)):
		return false
	case s.common.size.counts != nil && !s.common.size.counts.reserve(1):
		s.common.size.budget.release(uint64(u.weight))
		return false
	}
	if found {
		s.remove(i, u.hash, Expired)
	}
	s.pending.breakFences(u.hash)
	i = s.insert(u.hash, u.key, u.value, u.weight)
	u.beginLife(s, i)
	for range marks {
		s.use(i)
	}
	s.tally.restore(i)
	return true
}

// roomLeft returns how much may be stored without an eviction, in entries or in weight.
func (c *Cache[K, V]) roomLeft() uint64 {
	if c.common.size.weigh == nil && c.common.size.limit.Load() == 0 {
		return math.MaxUint64
	}
	return c.common.size.budget.left()
}

// has reports whether a key has a value, which may be in Grace, or a kept error.
func (c *Cache[K, V]) has(key K) bool {
	h := c.common.hasher.Hash(key)
	s, r := c.common.rlock(h)
	defer s.lock.RUnlock(r)
	_, found := s.findUsable(h, key)
	return found || s.common.keptError(key, 0) != nil
}
