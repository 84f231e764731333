// Package ristretto uses all of ristretto that can move.
package ristretto

import (
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

type Pages struct {
	c *cache.Cache[string, []byte]
}

func New() (*Pages, error) {
	c, err := cache.New(cache.Options[string, []byte]{Limit: int(1e4)})
	if err != nil {
		return nil, err
	}
	return &Pages{c}, nil
}

func (p *Pages) Page(path string, ttl time.Duration) ([]byte, bool) {
	p.c.Set(path, nil)
	cacheSetWithTTL(p.c, path, nil, ttl)

	p.c.Del(path)
	return p.c.Get(path)
}

func (p *Pages) Close() {
	p.c.Clear()
	p.c.Clear()
}
