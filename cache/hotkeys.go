// This file has HotKeys, and makes the watch that the options HotKeys and WhatIf need.

package cache

import (
	"slices"

	"github.com/pinwheel-cache/pinwheel/cache/internal/keytext"
	"github.com/pinwheel-cache/pinwheel/cache/internal/shadow"
	"github.com/pinwheel-cache/pinwheel/internal/eviction"
	"github.com/pinwheel-cache/pinwheel/internal/hotkeys"
	"github.com/pinwheel-cache/pinwheel/internal/sources"
)

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
func (c *Cache[K, V]) hotKeysAsText() []sources.HotKey {
	hottest := c.HotKeys()
	keys := make([]sources.HotKey, 0, len(hottest))
	for _, k := range hottest {
		keys = append(keys, sources.HotKey{Key: keytext.Of(k.Key), Share: k.Share})
	}
	return keys
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
		w.shadows = newShadows(o.Limit, o.Policy)
	}
	return w
}

func newShadows(limit int, p Policy) *shadow.Caches {
	return shadow.New(limit,
		func() eviction.Policy { return newOrder(p) },
		func() eviction.Policy { return newOrder(p.other()) })
}
