package cache

import (
	"github.com/pinwheel-cache/pinwheel/cache/internal/ghost"
	"github.com/pinwheel-cache/pinwheel/internal/hotkeys"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// A watch sees what is asked for, and what is stored, in a cache that is to find hot
// keys or to estimate other limits. It is safe for concurrent use. Its locks come
// after those of shards.
type watch[K comparable] struct {
	hot    *hotkeys.Sketch[K] // nil without HotKeys
	ghosts *ghost.Ghosts      // nil without WhatIf
}

// newWatch returns nil if there is nothing to watch for.
func newWatch[K comparable, V any](o Options[K, V], procs int) *watch[K] {
	if o.HotKeys == 0 && !o.WhatIf {
		return nil
	}
	w := new(watch[K])
	if o.HotKeys > 0 {
		w.hot = hotkeys.New[K](o.HotKeys)
	}
	if o.WhatIf {
		w.ghosts = ghost.New(o.Limit, procs)
	}
	return w
}

// asked tells the watch of a get.
func (c *Cache[K, V]) asked(h uint64, key K) {
	w := c.watch
	if w.hot != nil && !c.hasher.Lost(key) {
		w.hot.Add(key)
	}
	if w.ghostsOf(h) != nil {
		c.askedGhosts(h, key)
	}
}

// ghostsOf returns the ghosts if they see a key with hash h, and nil if they do not,
// or there are none, or no watch.
func (w *watch[K]) ghostsOf(h uint64) *ghost.Ghosts {
	if w == nil || w.ghosts == nil || !w.ghosts.Sees(h) {
		return nil
	}
	return w.ghosts
}

// askedGhosts tells the ghosts of a get. Of what the cache has, but a ghost has not,
// no set is going to follow, as it would if the cache were the ghost.
func (c *Cache[K, V]) askedGhosts(h uint64, key K) {
	now := c.clock.coarse.Load()
	if c.watch.ghosts.Get(h, now) {
		return
	}
	if deadline, ok := c.shardOf(h).deadlineByTTL(h, key); ok {
		c.watch.ghosts.Fill(h, now, deadline)
	}
}

// deadlineByTTL returns the deadline of a key by its TTL, and false if it has no entry
// or that has expired.
func (s *shard[K, V]) deadlineByTTL(h uint64, key K) (deadline int64, ok bool) {
	r := s.lock.RLock()
	defer s.lock.RUnlock(r)
	i, ok := s.findLive(h, key)
	switch {
	case !ok:
		return 0, false
	case s.caps != nil:
		return s.caps[i], true
	}
	return s.entries[i].deadline.load(), true
}

// touched tells the watch, if there is one, of another deadline for a key.
func (w *watch[K]) touched(h uint64, deadline int64) {
	if g := w.ghostsOf(h); g != nil {
		g.Touch(h, deadline)
	}
}

// stored tells the watch, if there is one, of a value with a deadline: the one by its
// TTL, for the ghosts know nothing of being idle.
func (w *watch[K]) stored(h uint64, deadline int64) {
	if g := w.ghostsOf(h); g != nil {
		g.Set(h, deadline)
	}
}

// removed tells the watch, if there is one, that the program removed a key.
func (w *watch[K]) removed(h uint64) {
	if g := w.ghostsOf(h); g != nil {
		g.Remove(h)
	}
}

// cleared tells the watch, if there is one, that the program removed all keys.
func (w *watch[K]) cleared() {
	if w != nil && w.ghosts != nil {
		w.ghosts.Clear()
	}
}

// resized tells the watch, if there is one, of another limit.
func (w *watch[K]) resized(limit int) {
	if w != nil && w.ghosts != nil {
		w.ghosts.Resize(limit)
	}
}

// closed lets go of the keys that the watch holds, if there is one.
func (w *watch[K]) closed() {
	if w != nil && w.hot != nil {
		w.hot.Close()
	}
}

// A HotKey is a key that is asked for often.
type HotKey[K comparable] struct {
	Key   K
	Share float64 // of all gets of late, an estimate from below; 0 to 1
}

// HotKeys returns the keys that are asked for most, the hottest first: at most as
// many as the HotKeys of the options, and none without them. It goes by a sample of
// the last some hundred thousand gets, in which it may overlook keys that have less
// than one part in 128 of them. A key may have left the cache. What a key points to is
// held until another takes its place, or the cache is closed.
func (c *Cache[K, V]) HotKeys() []HotKey[K] {
	if c.watch == nil || c.watch.hot == nil {
		return nil
	}
	var keys []HotKey[K]
	for _, k := range c.watch.hot.Top() {
		keys = append(keys, HotKey[K](k))
	}
	return keys
}

// hotKeysAsText returns what HotKeys does, for the page of package stats.
func (c *Cache[K, V]) hotKeysAsText() []stats.HotKey {
	var keys []stats.HotKey
	for _, k := range c.HotKeys() {
		keys = append(keys, stats.HotKey{Key: keyText(k.Key), Share: k.Share})
	}
	return keys
}
