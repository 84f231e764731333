// This file has the watch, which is told of gets and stores for HotKeys, WhatIf and Record.

package cache

import (
	"context"

	"github.com/pinwheel-cache/pinwheel/cache/internal/shadow"
	"github.com/pinwheel-cache/pinwheel/internal/hotkeys"
	"github.com/pinwheel-cache/pinwheel/internal/recording"
)

// A watch observes the gets and stores of a cache that finds hot keys, estimates other
// limits, or is being recorded. It is safe for concurrent use, and immutable: Record
// replaces it. Its locks come after those of shards. Most methods accept a nil watch.
type watch[K comparable] struct {
	hot     *hotkeys.Sketch[K] // nil without HotKeys
	shadows *shadow.Caches     // nil without WhatIf
	record  *record            // nil unless Record runs
}

// asked tells a watch of a get.
func (c *Cache[K, V]) asked(w *watch[K], h uint64, key K) {
	if w.hot != nil && c.common.hasher.Reflexive(key) {
		w.hot.Add(key)
	}
	if w.shadowsOf(h) != nil {
		c.askedShadows(w.shadows, h, key)
	}
	if w.recordOf(h) != nil {
		c.recordGet(w.record, h, key)
	}
}

// shadowsOf returns the shadows if there are any and they sample a key with hash h, and else
// nil. w may be nil.
func (w *watch[K]) shadowsOf(h uint64) *shadow.Caches {
	if w == nil || w.shadows == nil || !w.shadows.Sees(h) {
		return nil
	}
	return w.shadows
}

// askedShadows tells the shadows of a get. If a shadow lacks a key that the cache has, it is
// filled: no Set follows a hit, as it would if the cache were the shadow.
func (c *Cache[K, V]) askedShadows(shadows *shadow.Caches, h uint64, key K) {
	now := c.common.time.clock.Now()
	if shadows.Get(h, now) {
		return
	}
	if deadline, _, ok := c.common.deadlineAndWeight(h, key); ok {
		shadows.Fill(h, now, deadline)
	}
}

// deadlineAndWeight returns the deadline of a key by its TTL, and its weight, which is 0 in a
// cache that does not weigh. It returns false if the key has no entry that lives.
func (c *common[K, V]) deadlineAndWeight(h uint64, key K) (deadline int64, weight uint32, ok bool) {
	s, r := c.rlock(h)
	defer s.lock.RUnlock(r)
	i, ok := s.findLive(h, key)
	if !ok {
		return 0, 0, false
	}
	if c.size.weigh != nil {
		weight = s.turn.weight(i)
	}
	return s.lives.cap(i, &s.entries[i].deadline), weight, true
}

// touched tells a watch that a key has another deadline.
func (c *common[K, V]) touched(w *watch[K], h uint64, deadline int64) {
	if shadows := w.shadowsOf(h); shadows != nil {
		shadows.Touch(h, deadline)
	}
	if r := w.recordOf(h); r != nil {
		c.recordTouch(r, h, deadline)
	}
}

// stored tells the watch, if there is one, of a stored value. The shadows get its deadline
// by TTL, as they ignore Idle.
func (c *common[K, V]) stored(u *update[K, V]) {
	w := c.watch.Load()
	if shadows := w.shadowsOf(u.hash); shadows != nil {
		shadows.Set(u.hash, u.life.cap)
	}
	if r := w.recordOf(u.hash); r != nil {
		c.recordSet(r, u)
	}
}

// removed tells the watch, if there is one, that the program removed a key.
func (w *watch[K]) removed(h uint64) {
	if shadows := w.shadowsOf(h); shadows != nil {
		shadows.Remove(h)
	}
	if r := w.recordOf(h); r != nil {
		r.removed(h)
	}
}

// cleared tells the watch, if there is one, that the program removed all keys.
func (w *watch[K]) cleared() {
	if w != nil && w.shadows != nil {
		w.shadows.Clear()
	}
	if w != nil && w.record != nil {
		w.record.cleared()
	}
}

// resized tells the watch, if there is one, of another limit.
func (w *watch[K]) resized(limit int) {
	if w != nil && w.shadows != nil {
		w.shadows.Resize(limit)
	}
}

// closed drops the keys that the watch holds, if there is one, and ends Record.
func (w *watch[K]) closed() {
	if w != nil && w.hot != nil {
		w.hot.Close()
	}
	if w != nil && w.record != nil {
		w.record.end()
	}
}

// A record is a Recorder, with the function that ends its Run.
type record struct {
	*recording.Recorder
	end context.CancelFunc
}

// recordOf returns the record if there is one and it samples a key with hash h, and else
// nil. w may be nil.
func (w *watch[K]) recordOf(h uint64) *record {
	if w == nil || w.record == nil || !w.record.Sees(h) {
		return nil
	}
	return w.record
}

// recordGet records a get that is about to be made.
func (c *Cache[K, V]) recordGet(r *record, h uint64, key K) {
	a := recording.Access{Op: recording.Get, Key: h}
	deadline, weight, ok := c.common.deadlineAndWeight(h, key)
	if ok {
		a.Hit, a.Weight, a.TTL = true, weight, c.common.time.left(deadline)
	}
	r.Add(a)
}

// recordSet records a value that is stored.
func (c *common[K, V]) recordSet(r *record, u *update[K, V]) {
	a := recording.Access{Op: recording.Set, Key: u.hash, TTL: c.time.left(u.life.cap)}
	if c.size.weigh != nil {
		a.Weight = u.weight
	}
	r.Add(a)
}

// recordTouch records another deadline for a key.
func (c *common[K, V]) recordTouch(r *record, h uint64, deadline int64) {
	r.Add(recording.Access{Op: recording.Touch, Key: h, TTL: c.time.left(deadline)})
}

func (r *record) removed(h uint64) { r.Add(recording.Access{Op: recording.Remove, Key: h}) }

func (r *record) cleared() { r.Add(recording.Access{Op: recording.Clear}) }
