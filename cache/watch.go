package cache

import (
	"slices"

	"github.com/pinwheel-cache/pinwheel/cache/internal/ghost"
	"github.com/pinwheel-cache/pinwheel/internal/eviction"
	"github.com/pinwheel-cache/pinwheel/internal/hotkeys"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// A watch observes the gets and stores of a cache that finds hot keys, estimates other
// limits, or is being recorded. It is safe for concurrent use, and immutable: Record
// replaces it. Its locks come after those of shards. Most methods accept a nil watch.
type watch[K comparable] struct {
	hot    *hotkeys.Sketch[K] // nil without HotKeys
	ghosts *ghost.Ghosts      // nil without WhatIf
	record *record            // nil unless Record runs
}

// newWatch returns nil if no option needs a watch.
func newWatch[K comparable, V any](o Options[K, V]) *watch[K] {
	if o.HotKeys == 0 && !o.WhatIf {
		return nil
	}
	w := new(watch[K])
	if o.HotKeys > 0 {
		w.hot = hotkeys.New[K](o.HotKeys)
	}
	if o.WhatIf {
		w.ghosts = newGhosts(o.Limit, o.Policy)
	}
	return w
}

func newGhosts(limit int, p Policy) *ghost.Ghosts {
	return ghost.New(limit,
		func() eviction.Policy { return newOrder(p) },
		func() eviction.Policy { return newOrder(p.other()) })
}

// asked tells a watch of a get.
func (c *Cache[K, V]) asked(w *watch[K], h uint64, key K) {
	if w.hot != nil && c.common.hasher.Reflexive(key) {
		w.hot.Add(key)
	}
	if w.ghostsOf(h) != nil {
		c.askedGhosts(w.ghosts, h, key)
	}
	if w.recordOf(h) != nil {
		c.recordGet(w.record, h, key)
	}
}

// ghostsOf returns the ghosts if there are any and they sample a key with hash h, and else
// nil. w may be nil.
func (w *watch[K]) ghostsOf(h uint64) *ghost.Ghosts {
	if w == nil || w.ghosts == nil || !w.ghosts.Sees(h) {
		return nil
	}
	return w.ghosts
}

// askedGhosts tells the ghosts of a get. If a ghost lacks a key that the cache has, it is
// filled: no Set follows a hit, as it would if the cache were the ghost.
func (c *Cache[K, V]) askedGhosts(g *ghost.Ghosts, h uint64, key K) {
	now := c.common.clock.now()
	if g.Get(h, now) {
		return
	}
	if deadline, _, ok := c.common.look(h, key); ok {
		g.Fill(h, now, deadline)
	}
}

// look returns the deadline of a key by its TTL, and its weight, which is 0 if the cache
// does not weigh. It returns false if the key has no entry or that has expired.
func (c *common[K, V]) look(h uint64, key K) (deadline int64, weight uint32, ok bool) {
	s, r := c.rlock(h)
	defer s.lock.RUnlock(r)
	i, ok := s.findLive(h, key)
	if !ok {
		return 0, 0, false
	}
	if s.weights != nil {
		weight = s.weights[i]
	}
	if s.caps != nil {
		return s.caps[i], weight, true
	}
	return s.entries[i].deadline.load(), weight, true
}

// touched tells a watch that a key has another deadline.
func (c *common[K, V]) touched(w *watch[K], h uint64, deadline int64) {
	if g := w.ghostsOf(h); g != nil {
		g.Touch(h, deadline)
	}
	if r := w.recordOf(h); r != nil {
		c.recordTouch(r, h, deadline)
	}
}

// stored tells the watch, if there is one, of a stored value. The ghosts get its deadline
// by TTL, as they ignore Idle.
func (c *common[K, V]) stored(u *update[K, V]) {
	w := c.watch.Load()
	if g := w.ghostsOf(u.hash); g != nil {
		g.Set(u.hash, u.life.cap)
	}
	if r := w.recordOf(u.hash); r != nil {
		c.recordSet(r, u)
	}
}

// removed tells the watch, if there is one, that the program removed a key.
func (w *watch[K]) removed(h uint64) {
	if g := w.ghostsOf(h); g != nil {
		g.Remove(h)
	}
	if r := w.recordOf(h); r != nil {
		r.removed(h)
	}
}

// cleared tells the watch, if there is one, that the program removed all keys.
func (w *watch[K]) cleared() {
	if w != nil && w.ghosts != nil {
		w.ghosts.Clear()
	}
	if w != nil && w.record != nil {
		w.record.cleared()
	}
}

// resized tells the watch, if there is one, of another limit.
func (w *watch[K]) resized(limit int) {
	if w != nil && w.ghosts != nil {
		w.ghosts.Resize(limit)
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

// A HotKey is a key that is requested often.
type HotKey[K comparable] struct {
	Key   K
	Share float64 // of recent gets, from 0 to 1; a lower bound
}

// HotKeys returns the most requested keys, the hottest first: at most as many as the option
// HotKeys, and none without it. It counts a sample of the gets, whose weight halves every
// ten seconds, and may miss keys with less than 1/128 of the gets. A key may have left the
// cache. What a key points to stays in memory until another key takes its place, or the
// cache is closed. The strings in these keys take at most 8 MB: a key with more than its part,
// from 64 KB if HotKeys is 16 or less to 1 KB if it is 1000, is counted but never found.
func (c *Cache[K, V]) HotKeys() []HotKey[K] {
	w := c.common.watch.Load()
	if w == nil || w.hot == nil {
		return nil
	}
	top := w.hot.Top()
	keys := slices.Grow([]HotKey[K](nil), len(top))
	for _, k := range top {
		keys = append(keys, HotKey[K](k))
	}
	return keys
}

// hotKeysAsText is HotKeys for the page of package stats.
func (c *Cache[K, V]) hotKeysAsText() []stats.HotKey {
	hottest := c.HotKeys()
	keys := make([]stats.HotKey, 0, len(hottest))
	for _, k := range hottest {
		keys = append(keys, stats.HotKey{Key: keyText(k.Key), Share: k.Share})
	}
	return keys
}
