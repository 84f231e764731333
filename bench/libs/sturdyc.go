package libs

import (
	"context"

	"github.com/viccon/sturdyc"
)

type sturdycCache struct {
	*sturdyc.Client[*uint64]
	load func(string) (*uint64, error)
}

// newSturdyc has enough shards that writers seldom meet. A full shard drops a tenth of its
// entries, as in sturdyc's own examples.
func newSturdyc(c Config[string, *uint64]) Cache[string, *uint64] {
	if c.TTL == 0 {
		return nil
	}
	return sturdycCache{sturdyc.New[*uint64](c.Capacity, 64, c.TTL, 10, sturdyc.WithLog(&sturdyc.NoopLogger{})), c.Load}
}

func (s sturdycCache) Set(key string, value *uint64) { s.Client.Set(key, value) }

func (s sturdycCache) Take(key string) (*uint64, error) {
	return s.GetOrFetch(context.Background(), key, func(context.Context) (*uint64, error) { return s.load(key) })
}

func (s sturdycCache) Len() int { return s.Size() }
