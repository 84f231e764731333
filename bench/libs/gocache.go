package libs

import (
	"time"

	gocache "github.com/patrickmn/go-cache"
)

type goCache struct{ *gocache.Cache }

// newGoCache lets go-cache sweep every sixtieth of the TTL, but at most once a second: a sweep
// looks at all entries under the lock.
func newGoCache(c Config[string, *uint64]) Cache[string, *uint64] {
	if c.TTL == 0 {
		return goCache{gocache.New(gocache.NoExpiration, 0)}
	}
	return goCache{gocache.New(c.TTL, max(c.TTL/60, time.Second))}
}

func (g goCache) Get(key string) (*uint64, bool) {
	value, ok := g.Cache.Get(key)
	if !ok {
		return nil, false
	}
	return value.(*uint64), true
}

func (g goCache) Set(key string, value *uint64) { g.SetDefault(key, value) }

func (g goCache) SetTTL(key string, value *uint64, ttl time.Duration) { g.Cache.Set(key, value, ttl) }

func (g goCache) Len() int { return g.ItemCount() }
