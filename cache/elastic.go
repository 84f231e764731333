// This file has the option Elastic: a cache that yields memory.

package cache

import (
	"sync"
	"weak"

	"github.com/pinwheel-cache/pinwheel/cache/internal/pressure"
)

// An elastic is what a cache with Elastic may hold without pressure, and holds now.
type elastic struct {
	mu   sync.Mutex // held while the limit of the cache changes, and never while entries are evicted
	most uint64     // MaxWeight, as the options or ResizeWeight say
}

// yields has the cache yield memory while somebody holds it, until it is closed.
func (c *Cache[K, V]) yields(most uint64) {
	c.elastic = &elastic{most: most}
	w := weak.Make(c)
	stop := pressure.Watch(func() pressure.Holder {
		if c := w.Value(); c != nil {
			return (*holder[K, V])(c)
		}
		return nil
	})
	unregister := c.unregister
	c.unregister = func() { unregister(); stop() }
}

// A holder is a cache with Elastic, as package pressure sees it.
type holder[K comparable, V any] Cache[K, V]

func (h *holder[K, V]) Held() (now, may, most uint64) {
	h.elastic.mu.Lock()
	defer h.elastic.mu.Unlock()
	return h.shared.sizing.budget.used.Load(), h.shared.sizing.budget.max.Load(), h.elastic.most
}

func (h *holder[K, V]) Hold(most uint64) {
	c := (*Cache[K, V])(h)
	c.lend(most)
	c.keepMaxWeight()
}

// lend sets the limit for now, but evicts nothing.
func (c *Cache[K, V]) lend(most uint64) {
	c.elastic.mu.Lock()
	defer c.elastic.mu.Unlock()
	c.shared.sizing.budget.max.Store(min(most, c.elastic.most))
}
