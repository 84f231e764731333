// This file returns the keys that are requested most.

package cache

import (
	"slices"
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
// cache is closed.
func (c *Cache[K, V]) HotKeys() []HotKey[K] {
	w := c.shared.watch.Load()
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
