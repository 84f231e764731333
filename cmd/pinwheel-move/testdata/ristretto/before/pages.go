// Package ristretto uses all of ristretto that can move.
package ristretto

import (
	"time"

	"github.com/dgraph-io/ristretto/v2"
)

type Pages struct {
	c *ristretto.Cache[string, []byte]
}

func New() (*Pages, error) {
	c, err := ristretto.NewCache(&ristretto.Config[string, []byte]{
		NumCounters:        1e5,
		MaxCost:            1e4, // pages
		BufferItems:        64,
		IgnoreInternalCost: true,
	})
	if err != nil {
		return nil, err
	}
	return &Pages{c}, nil
}

func (p *Pages) Page(path string, ttl time.Duration) ([]byte, bool) {
	p.c.Set(path, nil, 1)
	p.c.SetWithTTL(path, nil, 1, ttl)
	p.c.Wait()
	p.c.Del(path)
	return p.c.Get(path)
}

func (p *Pages) Close() {
	p.c.Clear()
	p.c.Close()
}
