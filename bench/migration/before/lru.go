package before

import (
	"io"

	lru "github.com/hashicorp/golang-lru/v2"
)

// Conns keeps the 64 connections that were used last.
type Conns struct {
	c    *lru.Cache[string, io.Closer]
	dial func(addr string) (io.Closer, error)
}

func NewConns(dial func(addr string) (io.Closer, error)) (*Conns, error) {
	c, err := lru.NewWithEvict(64, func(_ string, conn io.Closer) { conn.Close() })
	if err != nil {
		return nil, err
	}
	return &Conns{c, dial}, nil
}

func (c *Conns) Conn(addr string) (io.Closer, error) {
	if conn, ok := c.c.Get(addr); ok {
		return conn, nil
	}
	conn, err := c.dial(addr)
	if err != nil {
		return nil, err
	}
	c.c.Add(addr, conn) // if another goroutine did so meanwhile, its conn leaks
	return conn, nil
}

func (c *Conns) Drop(addr string) bool { return c.c.Remove(addr) }

func (c *Conns) Shutdown() { c.c.Purge() }
