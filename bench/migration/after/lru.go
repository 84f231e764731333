package after

import (
	"context"
	"io"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// Conns keeps the 64 connections that were used last.
type Conns struct {
	c    *cache.Cache[string, io.Closer]
	dial func(addr string) (io.Closer, error)
}

func NewConns(dial func(addr string) (io.Closer, error)) (*Conns, error) {
	c, err := cache.New(cache.Options[string, io.Closer]{
		Name:     "conns",
		Limit:    64,
		OnRemove: func(e cache.Event[string, io.Closer]) { e.Value.Close() },
	})
	if err != nil {
		return nil, err
	}
	return &Conns{c, dial}, nil
}

func (c *Conns) Conn(addr string) (io.Closer, error) {
	return c.c.Take(addr, func() (io.Closer, error) { return c.dial(addr) })
}

func (c *Conns) Drop(addr string) bool { return c.c.Del(addr) }

// Shutdown waits until all connections were closed.
func (c *Conns) Shutdown() { c.c.Close(context.Background()) }
